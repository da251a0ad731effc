//! Queries as trees of texts, which are shrunk by leaving parts out.

use super::schema::ValueType;

/// A part of a query.
#[derive(Clone, Debug)]
pub(crate) enum QueryTree {
    Text(String),
    Parts(Vec<QueryTree>),
    /// An expression of a type.
    Value(ValueType, Box<QueryTree>),
    /// What a query has without, too.
    Optional(Box<QueryTree>),
    /// At least one item stays.
    List(&'static str, Vec<QueryTree>),
    /// An item of FROM.
    Item(Box<QueryTree>),
    /// A query of so many columns.
    Query(usize, Box<QueryTree>),
}

impl From<&str> for QueryTree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for QueryTree {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Puts texts and trees one behind the other.
macro_rules! tree {
    ($($part:expr),* $(,)?) => {
        $crate::tree::QueryTree::Parts(vec![$($crate::tree::QueryTree::from($part)),*])
    };
}
pub(crate) use tree;

impl QueryTree {
    pub(crate) fn value(value_type: ValueType, tree: Self) -> Self {
        Self::Value(value_type, Box::new(tree))
    }

    pub(crate) fn optional(tree: Self) -> Self {
        Self::Optional(Box::new(tree))
    }

    pub(crate) fn item(tree: Self) -> Self {
        Self::Item(Box::new(tree))
    }

    pub(crate) fn query(columns: usize, tree: Self) -> Self {
        Self::Query(columns, Box::new(tree))
    }

    pub(crate) fn nothing() -> Self {
        Self::Parts(Vec::new())
    }

    /// Writes the query's text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Text(own) => text.push_str(own),
            Self::List(separator, items) => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push_str(separator);
                    }
                    item.write(text);
                }
            }
            other => other.children().iter().for_each(|part| part.write(text)),
        }
    }

    /// Returns the parts below this one.
    pub(crate) fn children(&self) -> &[QueryTree] {
        match self {
            Self::Text(_) => &[],
            Self::Parts(parts) | Self::List(_, parts) => parts,
            Self::Value(_, part)
            | Self::Optional(part)
            | Self::Item(part)
            | Self::Query(_, part) => std::slice::from_ref(part),
        }
    }

    pub(crate) fn children_mut(&mut self) -> &mut [QueryTree] {
        match self {
            Self::Text(_) => &mut [],
            Self::Parts(parts) | Self::List(_, parts) => parts,
            Self::Value(_, part)
            | Self::Optional(part)
            | Self::Item(part)
            | Self::Query(_, part) => std::slice::from_mut(part),
        }
    }
}
