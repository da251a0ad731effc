//! Placement of a member on a NUMA node.

/// Which node a member was to lie on, and which it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The node that was asked for.
    pub wanted: Option<u32>,
    /// The node that the first page lies on, if the kernel says.
    pub actual: Option<u32>,
}
