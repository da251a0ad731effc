//! How a pool set is created.

/// How a pool set is created.
#[derive(Clone, Debug)]
pub struct PoolSetOptions {
    /// Bytes of the data area.
    pub data_bytes: u64,
    /// Bytes of the transaction log, in front of the data area; bounds a transaction. Rounded up to
    /// a multiple of 128, two slots of whole lines. Without one (0) there are no transactions.
    pub log_bytes: u64,
    /// NUMA node of each member, in the order of the domains; none where absent.
    pub numa_nodes: Vec<Option<u32>>,
    /// Name that the headers give the set if its files are renamed once what is created in it is
    /// whole; the name that it is created by if `None`.
    pub name: Option<String>,
    /// Whether members in memory get large pages where the domain has them. Making them costs
    /// more than what is written once and in order can gain.
    pub large_pages: bool,
}

impl PoolSetOptions {
    /// Options for a data area of `data_bytes` bytes and a transaction log of a sixteenth of that,
    /// 64 KiB at least and 4 MiB at most.
    pub fn new(data_bytes: u64) -> PoolSetOptions {
        PoolSetOptions {
            data_bytes,
            log_bytes: (data_bytes / 16).clamp(64 << 10, 4 << 20),
            numa_nodes: Vec::new(),
            name: None,
            large_pages: true,
        }
    }
}
