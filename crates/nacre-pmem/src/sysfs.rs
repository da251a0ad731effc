//! What sysfs tells of the block device behind a directory: NUMA node and persistence domain.
//!
//! Attributes are looked for from the device upwards, because a partition has none of its own and
//! a pmem namespace's persistence domain is written on its region.

use std::fs;
use std::path::Path;

/// Where sysfs is mounted.
pub(crate) const ROOT: &str = "/sys";

/// Returns the NUMA node of the block device, else the only node of the machine, else `None`.
pub(crate) fn numa_node(root: &Path, device: Option<u64>) -> Option<u32> {
    device
        .and_then(|device| find_upwards(root, device, "numa_node", |text| text.parse().ok()))
        .or_else(|| only_node(root))
}

/// Whether the device's platform flushes processor caches at a power cut (eADR).
pub(crate) fn caches_are_persistent(root: &Path, device: u64) -> bool {
    find_upwards(root, device, "persistence_domain", |text| Some(text == "cpu_cache"))
        .unwrap_or(false)
}

/// Returns the first value of `attribute` that `parse` accepts, from the device upwards.
fn find_upwards<T>(
    root: &Path,
    device: u64,
    attribute: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let root = fs::canonicalize(root).ok()?;
    let start = fs::canonicalize(root.join(format!("dev/block/{major}:{minor}"))).ok()?;
    start
        .ancestors()
        .take_while(|path| path.starts_with(&root))
        .filter_map(|path| fs::read_to_string(path.join(attribute)).ok())
        .find_map(|text| parse(text.trim()))
}

/// Returns the number of the machine's NUMA node if there is exactly one.
fn only_node(root: &Path) -> Option<u32> {
    match nodes(root)[..] {
        [node] => Some(node),
        _ => None,
    }
}

/// Returns the numbers of the machine's NUMA nodes, none if they are not known.
pub(crate) fn nodes(root: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(root.join("devices/system/node")) else {
        return Vec::new();
    };
    let mut nodes: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("node")?.parse().ok())
        .collect();
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with two nodes and a pmem namespace `pmem0` (259:1) in a region on node 1.
    fn fake_sysfs() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let region = root.join("devices/bus/region0");
        fs::create_dir_all(region.join("namespace0.0/block/pmem0")).unwrap();
        fs::create_dir_all(root.join("dev/block")).unwrap();
        fs::create_dir_all(root.join("devices/system/node/node0")).unwrap();
        fs::create_dir_all(root.join("devices/system/node/node1")).unwrap();
        std::os::unix::fs::symlink(
            region.join("namespace0.0/block/pmem0"),
            root.join("dev/block/259:1"),
        )
        .unwrap();
        fs::write(region.join("namespace0.0/numa_node"), "-1\n").unwrap();
        fs::write(region.join("numa_node"), "1\n").unwrap();
        fs::write(region.join("persistence_domain"), "cpu_cache\n").unwrap();
        directory
    }

    #[test]
    fn node_is_taken_from_the_nearest_parent_that_knows() {
        let sysfs = fake_sysfs();
        let device = rustix::fs::makedev(259, 1);
        assert_eq!(numa_node(sysfs.path(), Some(device)), Some(1));
        assert!(caches_are_persistent(sysfs.path(), device));
    }

    #[test]
    fn unknown_device_on_two_nodes_has_no_node() {
        let sysfs = fake_sysfs();
        let device = rustix::fs::makedev(0, 42);
        assert_eq!(numa_node(sysfs.path(), Some(device)), None);
        assert!(!caches_are_persistent(sysfs.path(), device));
    }

    #[test]
    fn single_node_is_the_node_of_everything() {
        let sysfs = fake_sysfs();
        fs::remove_dir(sysfs.path().join("devices/system/node/node1")).unwrap();
        assert_eq!(numa_node(sysfs.path(), None), Some(0));
    }

    #[test]
    fn missing_sysfs_is_no_error() {
        assert_eq!(numa_node(Path::new("/nonexistent"), Some(1)), None);
    }
}
