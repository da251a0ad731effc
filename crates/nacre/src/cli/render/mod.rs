//! Result sets as text: one [`Renderer`] per output mode.
//!
//! A renderer gets the batches of a result as they are computed and writes at once what it can;
//! only `box` holds rows back, a bounded number of them, to know its column widths. Every mode
//! shows all rows.
//!
//! | mode | NULL | a cell with control characters |
//! |---|---|---|
//! | `box`, `markdown`, `line` | `NULL` | escaped: `\n`, `\t`, `\x1b` |
//! | `list` | empty | escaped |
//! | `csv` | empty; an empty text is `""` | kept, in quotes |
//! | `json`, `jsonlines` | `null` | escaped as JSON says |

mod boxes;
mod csv;
mod escape;
mod json;
mod line;
mod list;
mod markdown;
mod mode;

#[cfg(test)]
mod tests;

pub(crate) use boxes::text_box;
pub(crate) use mode::{Mode, NUMBER, Renderer, Style};
