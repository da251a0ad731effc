//! How much memory queries may take, all of a database's together.
//!
//! Operators ask before they grow. Those that sort or group spill to temporary files when there is
//! no more; a join or another statement that needs what is not there ends with 53200, and the
//! others go on.

use std::sync::Arc;

use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;

/// Variable that bounds the memory of queries, in MiB; 0 is as much as there is.
const QUERY_MEMORY_MIB_VARIABLE: &str = "NACRE_QUERY_MEMORY_MIB";

/// Makes what queries of a database share; `bytes` is as in `OpenOptions`.
///
/// # Errors
/// [`ErrorKind::Open`] if the setting is no number or there is no place for temporary files.
pub(crate) fn runtime(bytes: Option<usize>) -> Result<Arc<RuntimeEnv>> {
    let setting = std::env::var(QUERY_MEMORY_MIB_VARIABLE).ok();
    let bytes = match bytes {
        Some(bytes) => bytes,
        None => setting_bytes(setting.as_deref())?.unwrap_or_else(default_bytes),
    };
    let builder = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(bytes)));
    builder.build_arc().map_err(from_datafusion)
}

/// Two thirds of the machine's memory: the rest is for rows, indexes and the page cache.
fn default_bytes() -> usize {
    let info = rustix::system::sysinfo();
    let total = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    total / 3 * 2
}

fn setting_bytes(setting: Option<&str>) -> Result<Option<usize>> {
    let Some(text) = setting.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let mib: u32 = text.parse().map_err(|_| {
        let message = format!("setting {QUERY_MEMORY_MIB_VARIABLE}: {text:?} is no number of MiB");
        Error::new(ErrorKind::Open, message).with_hint("0 is as much as there is.")
    })?;
    Ok(Some(if mib == 0 { usize::MAX } else { (mib as usize) << 20 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_is_a_number_of_mebibytes() {
        assert_eq!(setting_bytes(None).unwrap(), None);
        assert_eq!(setting_bytes(Some("")).unwrap(), None);
        assert_eq!(setting_bytes(Some("3")).unwrap(), Some(3 << 20));
        assert_eq!(setting_bytes(Some("0")).unwrap(), Some(usize::MAX));
        let error = setting_bytes(Some("lots")).unwrap_err();
        assert!(error.message().contains("NACRE_QUERY_MEMORY_MIB"), "{error}");
        assert!(default_bytes() > 0);
    }
}
