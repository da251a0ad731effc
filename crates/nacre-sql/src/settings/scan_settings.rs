//! How Nacre's own engine scans tables.

use nacre_exec::vector::VectorRows;

/// How Nacre's own engine scans tables: the settings `nacre.scan_restrictions`,
/// `nacre.join_filters` and `nacre.vector_rows`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanSettings {
    /// Whether scans decide conditions on encoded values.
    pub(crate) restricts_scans: bool,
    /// Whether scans leave out rows whose keys no join above wants.
    pub(crate) filters_join_keys: bool,
    pub(crate) vector_rows: VectorRows,
}

impl ScanSettings {
    /// Those of a session that says nothing.
    pub(super) const INITIAL: Self =
        Self { restricts_scans: true, filters_join_keys: true, vector_rows: VectorRows::DEFAULT };

    /// The values of `nacre.vector_rows`.
    pub(super) const VECTOR_ROWS: [&'static str; 9] =
        ["256", "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"];

    /// Reads the settings' values.
    pub(super) fn of_settings<'v>(value: impl Fn(&str) -> &'v str) -> Self {
        let rows = value("nacre.vector_rows").parse().ok().and_then(VectorRows::new);
        Self {
            restricts_scans: value("nacre.scan_restrictions") != "off",
            filters_join_keys: value("nacre.join_filters") != "off",
            vector_rows: rows.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_size_of_vectors() {
        for value in ScanSettings::VECTOR_ROWS {
            let of = |name: &str| if name == "nacre.vector_rows" { value } else { "off" };
            let read = ScanSettings::of_settings(of);
            assert_eq!(read.vector_rows.get().to_string(), value);
            assert!(!read.restricts_scans && !read.filters_join_keys);
        }
        let initial = ScanSettings::of_settings(|_| "");
        assert!(initial.restricts_scans && initial.filters_join_keys);
        assert_eq!(initial.vector_rows, VectorRows::DEFAULT);
    }
}
