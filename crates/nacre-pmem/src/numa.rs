//! On which NUMA node a thread runs.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::sysfs;

/// Returns the node of the processor that runs the calling thread, if it is known. It may be
/// another one a moment later, unless the thread is pinned.
pub fn current_node() -> Option<u32> {
    static NODE_OF: OnceLock<Vec<Option<u32>>> = OnceLock::new();
    let nodes = NODE_OF.get_or_init(|| nodes_of_processors(Path::new(sysfs::ROOT)));
    nodes.get(rustix::thread::sched_getcpu()).copied().flatten()
}

/// Returns the node of each processor by its number.
fn nodes_of_processors(root: &Path) -> Vec<Option<u32>> {
    let mut nodes = Vec::new();
    for node in sysfs::nodes(root) {
        let path = root.join(format!("devices/system/node/node{node}/cpulist"));
        let list = fs::read_to_string(path).unwrap_or_default();
        for processor in list.trim().split(',').filter_map(range_of).flatten() {
            if nodes.len() <= processor {
                nodes.resize(processor + 1, None);
            }
            nodes[processor] = Some(node);
        }
    }
    nodes
}

/// Reads `4` or `4-7`.
fn range_of(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (last < PROCESSORS_MAX).then_some(first..=last)
}

/// Bounds what a strange list makes us allocate.
const PROCESSORS_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_two_nodes_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        for (node, list) in [(0, "0-1,4\n"), (1, "2-3,5\n")] {
            let path = root.path().join(format!("devices/system/node/node{node}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cpulist"), list).unwrap();
        }
        let nodes = nodes_of_processors(root.path());
        assert_eq!(nodes, [0, 0, 1, 1, 0, 1].map(Some));
    }

    #[test]
    fn strange_lists_are_no_error() {
        assert_eq!(range_of("x"), None);
        assert_eq!(range_of("3-99999999999"), None);
        assert_eq!(nodes_of_processors(Path::new("/nonexistent")), []);
        let _ = current_node();
    }
}
