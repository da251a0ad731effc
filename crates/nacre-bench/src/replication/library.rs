//! `libpmemobj` beside us in the same run, if this program was built with it (feature `pmdk`).

use crate::error::Result;
use crate::replication::contestant::Contestant;
use crate::replication::nacre::Place;

/// Name in tables and ids.
pub(super) const NAME: &str = "libpmemobj";

/// Whether the library is built in.
pub(super) const IS_BUILT_IN: bool = cfg!(feature = "pmdk");

/// Prepares the process for the library, before anything else is done.
///
/// # Errors
/// If the program cannot be started again with the library's variables.
pub(super) fn prepare() -> Result<()> {
    #[cfg(feature = "pmdk")]
    {
        use nacre_pmem::{FlushFlavour, Settings};
        let settings = Settings::from_env().map_err(crate::Error::pmem("read the settings"))?;
        let flush = settings.flush.unwrap_or_else(FlushFlavour::best);
        super::pmdk::prepare(flush == FlushFlavour::Clwb)?;
    }
    Ok(())
}

/// Creates the column store over the library.
#[cfg_attr(not(feature = "pmdk"), allow(unused_variables, reason = "the library is not there"))]
pub(super) fn column(
    place: Place<'_>,
    is_transactional: bool,
) -> Result<Option<Box<dyn Contestant>>> {
    #[cfg(feature = "pmdk")]
    {
        let column = super::pmdk::PmdkColumn::create(place, is_transactional)?;
        Ok(Some(Box::new(column)))
    }
    #[cfg(not(feature = "pmdk"))]
    Ok(None)
}

/// Creates the key-value store over the library.
#[cfg_attr(not(feature = "pmdk"), allow(unused_variables, reason = "the library is not there"))]
pub(super) fn key_value(
    place: Place<'_>,
    keys: u64,
    value_bytes: usize,
) -> Result<Option<Box<dyn Contestant>>> {
    #[cfg(feature = "pmdk")]
    {
        let store = super::pmdk::PmdkKeyValue::create(place, keys, value_bytes)?;
        Ok(Some(Box::new(store)))
    }
    #[cfg(not(feature = "pmdk"))]
    Ok(None)
}
