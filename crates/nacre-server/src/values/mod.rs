//! Values on the wire, in text or binary ([`format`]): [`rows`] writes those of results, in binary
//! as [`binary`] says, [`parameters`] reads those that clients bind.

mod binary;
mod format;
pub(crate) mod parameters;
pub(crate) mod rows;

pub(crate) use format::{Format, formats};
