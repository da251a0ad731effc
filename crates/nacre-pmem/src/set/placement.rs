//! Placement of a member on a NUMA node: a policy on the file's memory before it is first used.

use std::io;

use crate::error::{Error, ErrorKind, Result};

/// `MPOL_BIND` of `mbind`: memory comes from the given nodes only.
const MPOL_BIND: libc::c_int = 2;
/// `MPOL_F_NODE | MPOL_F_ADDR` of `get_mempolicy`: the node of an address.
const NODE_OF_ADDRESS: libc::c_int = 1 | 2;
/// Nodes that fit the mask given to the kernel.
const NODES_MAX: u32 = 1024;
const WORD_BITS: u32 = libc::c_ulong::BITS;

/// Which node a member was to lie on, and which it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The node that was asked for.
    pub wanted: Option<u32>,
    /// The node that the first page lies on, if the kernel says.
    pub actual: Option<u32>,
}

/// Calls `bind` with the wanted node, unless nothing is wanted or there is no other node.
///
/// # Errors
/// `Unsupported` if the machine has no such node, or as `bind` fails.
pub(crate) fn place(
    object: &str,
    wanted: Option<u32>,
    nodes: &[u32],
    bind: impl FnOnce(u32) -> io::Result<()>,
) -> Result<()> {
    let Some(node) = wanted else {
        return Ok(());
    };
    if !nodes.is_empty() && !nodes.contains(&node) || node >= NODES_MAX {
        return Err(Error::new(
            ErrorKind::Unsupported,
            object,
            format!("NUMA node {node} was asked for, but this machine has {nodes:?}"),
            "ask for one of those, or for none",
        ));
    }
    if nodes == [node] {
        return Ok(());
    }
    let action = format!("cannot place it on NUMA node {node}");
    bind(node).map_err(|error| Error::os(object, &action, error))
}

/// Sets the policy of mapped memory that nobody has used yet; on tmpfs the file keeps it.
///
/// # Errors
/// What `mbind` says.
///
/// # Safety
/// `[base, base + bytes)` is mapped.
pub(crate) unsafe fn bind(base: *mut u8, bytes: usize, node: u32) -> io::Result<()> {
    let mut mask = [0 as libc::c_ulong; (NODES_MAX / WORD_BITS) as usize];
    mask[(node / WORD_BITS) as usize] |= 1 << (node % WORD_BITS);
    // SAFETY: the range is mapped by the caller's contract; the mask has the bits that are named,
    // and the kernel reads one less than it is told; no byte is changed.
    let result = unsafe {
        let bits = libc::c_ulong::from(NODES_MAX) + 1;
        libc::syscall(libc::SYS_mbind, base, bytes, MPOL_BIND, mask.as_ptr(), bits, 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the node of the page at a mapped address, if the kernel says.
pub(crate) fn node_of(address: *const u8) -> Option<u32> {
    let mut node: libc::c_int = -1;
    let no_mask = std::ptr::null_mut::<libc::c_ulong>();
    // SAFETY: the kernel writes one number to `node`, which lives on; it only looks the address
    // up, and answers an unmapped one by an error.
    let result = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut node, no_mask, 0, address, NODE_OF_ADDRESS)
    };
    if result == 0 { u32::try_from(node).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what was asked of the kernel.
    fn recorded(wanted: Option<u32>, nodes: &[u32]) -> Result<Vec<u32>> {
        let mut calls = Vec::new();
        place("pool x", wanted, nodes, |node| {
            calls.push(node);
            Ok(())
        })?;
        Ok(calls)
    }

    #[test]
    fn node_is_bound_only_where_there_is_a_choice() {
        assert_eq!(recorded(None, &[0, 1]).unwrap(), []);
        assert_eq!(recorded(Some(0), &[0]).unwrap(), []);
        assert_eq!(recorded(Some(1), &[0, 1]).unwrap(), [1]);
        assert_eq!(recorded(Some(3), &[]).unwrap(), [3]);
    }

    #[test]
    fn node_that_is_not_there_is_an_error() {
        for (wanted, nodes) in [(2, vec![0, 1]), (5000, vec![])] {
            let error = recorded(Some(wanted), &nodes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(&format!("node {wanted}")), "{error}");
        }
    }

    #[test]
    fn refused_policy_is_an_error() {
        let refuse = |_| Err(rustix::io::Errno::PERM.into());
        let error = place("pool x", Some(1), &[0, 1], refuse).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
}
