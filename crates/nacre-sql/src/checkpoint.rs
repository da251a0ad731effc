//! `CHECKPOINT`: what is hot is frozen, and the redo log truncated.
//!
//! Nothing that a query can see changes, so it may stand in a transaction block.

use nacre_store::Store;

use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::own_syntax;

/// MiB by which the redo log grows before it is truncated unasked; 0 turns that off.
const CHECKPOINT_MIB_VARIABLE: &str = "NACRE_CHECKPOINT_MIB";

/// Whether `sql` is the statement, which the parser of the front end does not know.
///
/// # Errors
/// `Syntax` with the place.
pub(crate) fn is_checkpoint(sql: &str) -> Result<bool> {
    let Some(mut parser) = own_syntax::begin(sql, &["checkpoint"])? else {
        return Ok(false);
    };
    own_syntax::end(&mut parser).map(|()| true).map_err(|error| from_parser(&error))
}

/// Runs the statement on a thread that may wait for a device.
///
/// # Errors
/// No space, I/O; `ReadOnly`.
pub(crate) async fn checkpoint(store: &Store) -> Result<()> {
    let store = store.clone();
    let work = move || store.checkpoint().map(drop);
    blocking("the checkpoint", work).await?.map_err(from_store)
}

/// Returns the setting in bytes; `None` if there is none.
///
/// # Errors
/// [`ErrorKind::Open`] if it is no number.
pub(crate) fn checkpoint_bytes() -> Result<Option<u64>> {
    bytes_of(std::env::var(CHECKPOINT_MIB_VARIABLE).ok().as_deref())
}

fn bytes_of(setting: Option<&str>) -> Result<Option<u64>> {
    let Some(text) = setting.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let mib: u32 = text.parse().map_err(|_| {
        let message = format!("setting {CHECKPOINT_MIB_VARIABLE}: {text:?} is no number of MiB");
        Error::new(ErrorKind::Open, message).with_hint("0 leaves it to CHECKPOINT.")
    })?;
    Ok(Some(u64::from(mib) << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_is_one_word() {
        for (sql, is_one) in [
            ("CHECKPOINT", true),
            (" checkpoint ; ", true),
            ("-- why\nCheckpoint", true),
            ("\"checkpoint\"", false),
            ("SELECT 1", false),
            ("", false),
        ] {
            assert_eq!(is_checkpoint(sql).unwrap(), is_one, "{sql}");
        }
        assert!(is_checkpoint("CHECKPOINT now").is_err());
    }

    #[test]
    fn setting_is_a_number_of_mebibytes() {
        assert_eq!(bytes_of(None).unwrap(), None);
        assert_eq!(bytes_of(Some("")).unwrap(), None);
        assert_eq!(bytes_of(Some("0")).unwrap(), Some(0));
        assert_eq!(bytes_of(Some("64")).unwrap(), Some(64 << 20));
        let error = bytes_of(Some("much")).unwrap_err();
        assert!(error.message().contains("NACRE_CHECKPOINT_MIB"), "{error}");
    }
}
