//! Which replicas a column has: their formats and places.

use nacre_column::replicated::{ReplicatedColumn, ReplicatedOptions};
use nacre_column::{ColumnType, Format, FormatChoice};
use nacre_pmem::Domain;

use super::Run;
use crate::dataset::DataSet;
use crate::error::{Error, Result};

/// Values that an appender hands over at once: 1 MiB, as in the paper.
pub(super) const APPEND_VALUES: usize = (1 << 20) / size_of::<i64>();

/// The type of the columns: 64-bit values, as in the paper.
pub(super) const COLUMN_TYPE: ColumnType = ColumnType::BigInt;

/// Bytes of a value that is not encoded.
pub(super) const VALUE_BYTES: u64 = size_of::<i64>() as u64;

/// One replica of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replica {
    format: Format,
    is_in_dram: bool,
}

/// The replicas of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheme(pub(super) &'static [Replica]);

pub(super) const PLAIN: Replica = Replica { format: Format::Plain, is_in_dram: false };
pub(super) const STATIC: Replica = Replica { format: Format::StaticBp, is_in_dram: false };
pub(super) const DYNAMIC: Replica = Replica { format: Format::DynamicBp, is_in_dram: false };
const PLAIN_DRAM: Replica = Replica { is_in_dram: true, ..PLAIN };
const STATIC_DRAM: Replica = Replica { is_in_dram: true, ..STATIC };

/// What everything but the mixed workload is compared with.
pub(super) const ONE_PLAIN: Scheme = Scheme(&[PLAIN]);

/// What the mixed workload is compared with.
pub(super) const TWO_PLAIN: Scheme = Scheme(&[PLAIN, PLAIN]);

/// The schemes of two replicas.
pub(super) const PAIRS: [Scheme; 6] = [
    TWO_PLAIN,
    Scheme(&[STATIC, STATIC]),
    Scheme(&[DYNAMIC, DYNAMIC]),
    Scheme(&[STATIC, DYNAMIC]),
    Scheme(&[PLAIN, PLAIN_DRAM]),
    Scheme(&[STATIC, STATIC_DRAM]),
];

impl Scheme {
    /// Returns the name in tables and ids, such as `static_bp+static_bp@dram`.
    pub(super) fn name(self) -> String {
        let name = |replica: &Replica| {
            let place = if replica.is_in_dram { "@dram" } else { "" };
            format!("{}{place}", replica.format)
        };
        match self.0 {
            [] => "none".to_owned(),
            replicas => replicas.iter().map(name).collect::<Vec<_>>().join("+"),
        }
    }

    /// Creates an empty column with room for `values` values.
    pub(super) fn create(self, run: &Run<'_>, name: &str, values: u64) -> Result<ReplicatedColumn> {
        let replica = |(replica, place): (&Replica, &Domain)| {
            let domain = if replica.is_in_dram { &run.dram } else { place };
            (domain.clone(), FormatChoice::Fixed(replica.format))
        };
        let places = run.domains.iter().cycle();
        let replicas: Vec<_> = self.0.iter().zip(places).map(replica).collect();
        // One file a replica: growing is not what is measured. Plain values need most; headers are
        // far below a sixteenth of them.
        let bytes = values * VALUE_BYTES;
        let segment_bytes = (bytes + bytes / 16 + (1 << 20)).min(SEGMENT_BYTES_MAX);
        let options =
            ReplicatedOptions { segment_bytes, flavour: run.flavour, ..Default::default() };
        ReplicatedColumn::create(name, COLUMN_TYPE, &replicas, options)
            .map_err(Error::replicated(format_args!("create a column of {}", self.name())))
    }

    /// Creates a column of the first `values` values of a data set.
    pub(super) fn fill(
        self,
        run: &Run<'_>,
        name: &str,
        set: DataSet,
        values: u64,
    ) -> Result<ReplicatedColumn> {
        let mut column = self.create(run, name, values)?;
        let mut source = set.values(values).map(i64::from);
        let mut staged = Vec::with_capacity(APPEND_VALUES);
        loop {
            run.setup.interrupt.check()?;
            staged.clear();
            staged.extend(source.by_ref().take(APPEND_VALUES));
            if staged.is_empty() {
                break;
            }
            column.append(&staged).map_err(Error::replicated("fill a column"))?;
        }
        column.commit().map_err(Error::replicated("fill a column"))?;
        Ok(column)
    }
}

/// Largest file: a column of more has several.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Removes the files of a column that nobody reads any more.
pub(super) fn remove(run: &Run<'_>, name: &str) -> Result<()> {
    let prefix = format!("{name}.r");
    for domain in run.domains.iter().chain([&run.dram]) {
        let failed = || format!("remove column {name} from {}", domain.name());
        for pool in domain.list_pools().map_err(Error::pmem(failed()))? {
            if pool.starts_with(&prefix) {
                domain.remove_pool(&pool).map_err(Error::pmem(failed()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats_and_places() {
        assert_eq!(PAIRS[5].name(), "static_bp+static_bp@dram");
        assert_eq!((ONE_PLAIN.name(), Scheme(&[]).name()), ("plain".into(), "none".into()));
    }
}
