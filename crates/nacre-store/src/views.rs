//! Views: queries with a name, kept as text.
//!
//! The store keeps them beside the tables and knows nothing of what they say.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record", kinds 16 and 17.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::Securable;
use crate::codec::{Decoder, Encoder, Truncated};
use crate::error::{Error, Result};
use crate::manifest::Record;
use crate::schema::{COLUMNS_MAX, check_name};
use crate::store::Store;

/// Longest text of a view in bytes; with the names of its columns it fits a record.
pub const VIEW_BYTES_MAX: usize = 512 << 10;

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewColumn {
    pub name: String,
    /// What the query calls it.
    pub source: String,
}

/// The definition of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDef {
    pub name: String,
    /// SQL text of the query.
    pub text: String,
    pub columns: Vec<ViewColumn>,
}

impl ViewDef {
    /// Checks that the view fits its record.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        check_name("view", &self.name)?;
        let names = self.columns.iter().map(|column| column.name.len() + column.source.len() + 8);
        let bytes = self.text.len() + names.sum::<usize>();
        if bytes > VIEW_BYTES_MAX {
            return Err(format!(
                "view {:?} has {bytes} bytes, more than {VIEW_BYTES_MAX}",
                self.name
            ));
        }
        if self.columns.len() > COLUMNS_MAX {
            let count = self.columns.len();
            return Err(format!(
                "view {:?} has {count} columns, more than {COLUMNS_MAX}",
                self.name
            ));
        }
        Ok(())
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.name);
        encoder.put_str(&self.text);
        encoder.put_u16(self.columns.len() as u16);
        for column in &self.columns {
            encoder.put_str(&column.name);
            encoder.put_str(&column.source);
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> std::result::Result<Self, Truncated> {
        let (name, text) = (decoder.string()?, decoder.string()?);
        let column = |decoder: &mut Decoder<'_>| {
            Ok(ViewColumn { name: decoder.string()?, source: decoder.string()? })
        };
        let columns = (0..decoder.u16()?).map(|_| column(decoder));
        Ok(Self { name, text, columns: columns.collect::<std::result::Result<_, Truncated>>()? })
    }
}

impl Store {
    /// Returns the view called `name`.
    pub fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        match self.definitions().and_then(|definitions| definitions.view(name)) {
            Some(view) => view,
            None => self.with_views(|views| views.get(name).cloned()),
        }
    }

    /// Returns all views in name order.
    pub fn views(&self) -> Vec<Arc<ViewDef>> {
        self.views_by_name().into_values().collect()
    }

    fn views_by_name(&self) -> BTreeMap<String, Arc<ViewDef>> {
        let mut all = self.with_views(|views| views.clone());
        if let Some(definitions) = self.definitions() {
            definitions.change_views(&mut all);
        }
        all
    }

    /// Whether there is any view.
    pub fn has_views(&self) -> bool {
        match self.definitions() {
            Some(_) => !self.views_by_name().is_empty(),
            None => self.with_views(|views| !views.is_empty()),
        }
    }

    /// Creates a view, or replaces one that is there.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidDefinition`], [`Error::ReadOnly`], no space, I/O.
    pub fn define_view(&self, view: ViewDef) -> Result<()> {
        self.require_writable()?;
        view.validate().map_err(|reason| Error::InvalidDefinition { reason })?;
        let check = || match self.has_table_or_index(&view.name) {
            true => Err(Error::TableExists { table: view.name.clone() }),
            false => {
                let mut records = vec![Record::ViewDefined(view.clone())];
                if self.view(&view.name).is_none() {
                    self.record_ownership(Securable::View(view.name.clone()), &mut records);
                }
                Ok(records)
            }
        };
        if let Some((tx, _)) = self.draft() {
            check()?;
            let before = self.for_everybody().view(&view.name);
            self.draft_view(tx, &view.name, before, Some(view.clone()));
            return Ok(());
        }
        self.record(check, || {
            let new = Arc::new(view.clone());
            if self.with_views(|views| views.insert(view.name.clone(), new)).is_none() {
                self.show_ownership(Securable::View(view.name.clone()));
            }
            self.bump_definitions();
        })
    }

    /// Drops the view called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::ReadOnly`], no space, I/O.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        self.require_writable()?;
        let check = || match self.view(name) {
            Some(_) => Ok(vec![Record::ViewDropped { name: name.to_owned() }]),
            None => Err(Error::UnknownTable { table: name.to_owned() }),
        };
        if let Some((tx, _)) = self.draft() {
            check()?;
            self.draft_view(tx, name, self.for_everybody().view(name), None);
            return Ok(());
        }
        self.record(check, || {
            self.with_views(|views| views.remove(name));
            self.bump_definitions();
            self.forget_access(&Securable::View(name.to_owned()));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenOptions;

    fn view(name: &str) -> ViewDef {
        let column = ViewColumn { name: "a".into(), source: "x".into() };
        ViewDef { name: name.into(), text: "SELECT x FROM t".into(), columns: vec![column] }
    }

    #[test]
    fn views_survive_encoding_and_every_cut_is_noticed() {
        let mut encoder = Encoder::default();
        view("v").encode(&mut encoder);
        let bytes = encoder.into_bytes();
        assert_eq!(ViewDef::decode(&mut Decoder::new(&bytes)), Ok(view("v")));
        for end in 0..bytes.len() {
            assert_eq!(ViewDef::decode(&mut Decoder::new(&bytes[..end])), Err(Truncated));
        }
    }

    #[test]
    fn views_survive_a_restart_and_a_drop_does() {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            let directory = Some(directory.path().join("db"));
            Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap()
        };
        let store = open();
        store.define_view(view("v")).unwrap();
        store.define_view(view("w")).unwrap();
        let other = ViewDef { text: "SELECT 1".into(), ..view("v") };
        store.define_view(other.clone()).unwrap();
        store.drop_view("w").unwrap();
        assert!(store.drop_view("w").is_err());
        drop(store);
        let store = open();
        assert_eq!(store.views(), [Arc::new(other)]);
        let long = ViewDef { text: "x".repeat(600_000), ..view("long") };
        assert!(store.define_view(long).is_err());
    }
}
