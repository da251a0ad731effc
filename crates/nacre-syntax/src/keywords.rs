//! The words that PostgreSQL's grammar knows, and where each may still be a name.
//!
//! `keywords.tsv` holds one word a line, sorted: the word, its category (`U`, `C`, `T`, `R`) and
//! whether it may be a label without AS (`t`, `f`). The columns are those of PostgreSQL's
//! `pg_get_keywords()`, and a test compares them. [`Keyword`] has the words in the same order.
//!
//! # Invariants
//! `Keyword as usize` is the number of the word's line.

use std::sync::LazyLock;

/// Where a word of the grammar may stand as a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordCategory {
    /// Any name.
    Unreserved,
    /// Columns, tables and the like, but no functions and types.
    ColumnName,
    /// Functions and types, but no columns.
    TypeFunctionName,
    /// No name but a label after AS.
    Reserved,
}

macro_rules! keywords {
    ($($name:ident)*) => {
        /// A word of the grammar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum SqlKeyword {
            $(#[allow(missing_docs)] $name),*
        }

        const KEYWORDS: &[SqlKeyword] = &[$(SqlKeyword::$name),*];
    };
}

keywords! {
    Abort Absolute Access Action Add Admin After Aggregate All Also Alter Always Analyse Analyze
    And Any Array As Asc Asensitive Assertion Assignment Asymmetric At Atomic Attach Attribute
    Authorization Backward Before Begin Between Bigint Binary Bit Boolean Both Breadth By Cache
    Call Called Cascade Cascaded Case Cast Catalog Chain Char Character Characteristics Check
    Checkpoint Class Close Cluster Coalesce Collate Collation Column Columns Comment Comments
    Commit Committed Compression Concurrently Configuration Conflict Connection Constraint
    Constraints Content Continue Conversion Copy Cost Create Cross Csv Cube Current
    CurrentCatalog CurrentDate CurrentRole CurrentSchema CurrentTime CurrentTimestamp CurrentUser
    Cursor Cycle Data Database Day Deallocate Dec Decimal Declare Default Defaults Deferrable
    Deferred Definer Delete Delimiter Delimiters Depends Depth Desc Detach Dictionary Disable
    Discard Distinct Do Document Domain Double Drop Each Else Enable Encoding Encrypted End Enum
    Escape Event Except Exclude Excluding Exclusive Execute Exists Explain Expression Extension
    External Extract False Family Fetch Filter Finalize First Float Following For Force Foreign
    Forward Freeze From Full Function Functions Generated Global Grant Granted Greatest Group
    Grouping Groups Handler Having Header Hold Hour Identity If Ilike Immediate Immutable
    Implicit Import In Include Including Increment Index Indexes Inherit Inherits Initially
    Inline Inner Inout Input Insensitive Insert Instead Int Integer Intersect Interval Into
    Invoker Is Isnull Isolation Join Key Label Language Large Last Lateral Leading Leakproof
    Least Left Level Like Limit Listen Load Local Localtime Localtimestamp Location Lock Locked
    Logged Mapping Match Matched Materialized Maxvalue Merge Method Minute Minvalue Mode Month
    Move Name Names National Natural Nchar New Next Nfc Nfd Nfkc Nfkd No None Normalize
    Normalized Not Nothing Notify Notnull Nowait Null Nullif Nulls Numeric Object Of Off Offset
    Oids Old On Only Operator Option Options Or Order Ordinality Others Out Outer Over Overlaps
    Overlay Overriding Owned Owner Parallel Parameter Parser Partial Partition Passing Password
    Placing Plans Policy Position Preceding Precision Prepare Prepared Preserve Primary Prior
    Privileges Procedural Procedure Procedures Program Publication Quote Range Read Real Reassign
    Recheck Recursive Ref References Referencing Refresh Reindex Relative Release Rename
    Repeatable Replace Replica Reset Restart Restrict Return Returning Returns Revoke Right Role
    Rollback Rollup Routine Routines Row Rows Rule Savepoint Schema Schemas Scroll Search Second
    Security Select Sequence Sequences Serializable Server Session SessionUser Set Setof Sets
    Share Show Similar Simple Skip Smallint Snapshot Some Sql Stable Standalone Start Statement
    Statistics Stdin Stdout Storage Stored Strict Strip Subscription Substring Support Symmetric
    Sysid System Table Tables Tablesample Tablespace Temp Template Temporary Text Then Ties Time
    Timestamp To Trailing Transaction Transform Treat Trigger Trim True Truncate Trusted Type
    Types Uescape Unbounded Uncommitted Unencrypted Union Unique Unknown Unlisten Unlogged Until
    Update User Using Vacuum Valid Validate Validator Value Values Varchar Variadic Varying
    Verbose Version View Views Volatile When Where Whitespace Window With Within Without Work
    Wrapper Write Xml Xmlattributes Xmlconcat Xmlelement Xmlexists Xmlforest Xmlnamespaces
    Xmlparse Xmlpi Xmlroot Xmlserialize Xmltable Year Yes Zone
}

/// One line of the table.
#[derive(Debug)]
struct KeywordRow {
    word: &'static str,
    category: KeywordCategory,
    is_bare_label: bool,
}

/// Slots of the hash table: a power of two, so that a quarter of them is used.
const SLOT_COUNT: usize = 2048;

const _: () = assert!(KEYWORDS.len() * 4 <= SLOT_COUNT);

struct KeywordTable {
    rows: Vec<KeywordRow>,
    /// Numbers of rows plus one; 0 is empty. Collisions go to the next slot.
    slots: Box<[u16; SLOT_COUNT]>,
    length_max: usize,
}

static TABLE: LazyLock<KeywordTable> = LazyLock::new(read_table);

fn read_table() -> KeywordTable {
    let rows: Vec<KeywordRow> = include_str!("keywords.tsv").lines().filter_map(read_row).collect();
    let mut slots = Box::new([0; SLOT_COUNT]);
    for (number, row) in (1_u16..).zip(&rows) {
        let mut slot = slot_of(row.word.as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = number;
    }
    let length_max = rows.iter().map(|row| row.word.len()).max().unwrap_or(0);
    KeywordTable { rows, slots, length_max }
}

fn read_row(line: &'static str) -> Option<KeywordRow> {
    let mut columns = line.split('\t');
    let word = columns.next()?;
    let category = match columns.next()? {
        "U" => KeywordCategory::Unreserved,
        "C" => KeywordCategory::ColumnName,
        "T" => KeywordCategory::TypeFunctionName,
        _ => KeywordCategory::Reserved,
    };
    Some(KeywordRow { word, category, is_bare_label: columns.next()? == "t" })
}

/// FNV-1a, folded: the words are short.
fn slot_of(word: &[u8]) -> usize {
    let hash = word
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) as usize % SLOT_COUNT
}

impl SqlKeyword {
    /// Returns the keyword that a word in any case is.
    pub fn of(word: &str) -> Option<Self> {
        const LENGTH_MAX: usize = 24;
        let table = &*TABLE;
        let mut lower = [0; LENGTH_MAX];
        if word.len() > table.length_max.min(LENGTH_MAX) {
            return None;
        }
        let lower = lower.get_mut(..word.len())?;
        for (to, from) in lower.iter_mut().zip(word.bytes()) {
            *to = from.to_ascii_lowercase();
        }
        let mut slot = slot_of(lower);
        loop {
            let row = usize::from(table.slots[slot]).checked_sub(1)?;
            if table.rows.get(row)?.word.as_bytes() == lower {
                return KEYWORDS.get(row).copied();
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
    }

    /// Returns the word in lower case.
    pub fn word(self) -> &'static str {
        TABLE.rows.get(self as usize).map_or("", |row| row.word)
    }

    /// Returns where the word may be a name.
    pub fn category(self) -> KeywordCategory {
        TABLE.rows.get(self as usize).map_or(KeywordCategory::Reserved, |row| row.category)
    }

    /// Whether the word may be a label of an output without AS.
    pub fn is_bare_label(self) -> bool {
        TABLE.rows.get(self as usize).is_some_and(|row| row.is_bare_label)
    }

    /// Whether the word may name a column, table or other object.
    pub fn is_column_name(self) -> bool {
        matches!(self.category(), KeywordCategory::Unreserved | KeywordCategory::ColumnName)
    }

    /// Whether the word may name a type or function.
    pub fn is_type_or_function(self) -> bool {
        matches!(self.category(), KeywordCategory::Unreserved | KeywordCategory::TypeFunctionName)
    }

    /// Returns all words, sorted.
    pub fn all() -> &'static [Self] {
        KEYWORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_where_its_keyword_does() {
        assert_eq!(TABLE.rows.len(), KEYWORDS.len());
        for keyword in KEYWORDS {
            let name = format!("{keyword:?}").to_lowercase();
            assert_eq!(keyword.word().replace('_', ""), name);
            assert_eq!(SqlKeyword::of(keyword.word()), Some(*keyword));
            assert_eq!(SqlKeyword::of(&keyword.word().to_uppercase()), Some(*keyword));
        }
    }

    #[test]
    fn other_words_are_no_keywords() {
        for word in ["", "selec", "selects", "backup", "a_word_that_is_longer_than_any", "\u{e9}"] {
            assert_eq!(SqlKeyword::of(word), None);
        }
    }

    #[test]
    fn categories_say_what_a_word_may_name() {
        assert!(SqlKeyword::Abort.is_column_name() && SqlKeyword::Abort.is_type_or_function());
        assert!(SqlKeyword::Between.is_column_name() && !SqlKeyword::Between.is_type_or_function());
        assert!(!SqlKeyword::Left.is_column_name() && SqlKeyword::Left.is_type_or_function());
        assert!(!SqlKeyword::Select.is_column_name() && !SqlKeyword::Select.is_type_or_function());
        assert!(SqlKeyword::Select.is_bare_label() && !SqlKeyword::Over.is_bare_label());
    }
}
