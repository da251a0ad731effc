//! Online switching: which replication mechanism an update takes.
//!
//! 1. [`Profile::calibrate`] measures the mechanisms on this machine; the profile is one text file.
//! 2. [`DecisionTree::derive`] keeps of it which mechanism is best where: by memory kind, access
//!    pattern, transaction or not, number of replicas, size of the update. Without a profile that
//!    fits, [`DecisionTree::built_in`] serves.
//! 3. [`Switch::resolve`] flattens the tree for one pool set into a table of functions, so that a
//!    decision is a shift, an addition and a load.
//! 4. [`PatternDetector`] tells from the offsets of earlier updates whether one is sequential.
//!
//! # Source
//! [Zarubin22 3.2.2] profiles, decision tree, online switching. Differs: the tree is resolved once
//! per pool set instead of being walked for each update; what decides within 3 % of the best
//! measurement is how simple the mechanism is, so that noise picks nothing exotic.

mod calibrate;
mod pattern;
mod profile;
mod select;
mod tree;

pub use calibrate::{Calibration, Progress};
pub use pattern::PatternDetector;
pub use profile::{Machine, Measurement, Pattern, Profile, Situation};
pub use select::{Switch, SwitchReport};
pub use tree::DecisionTree;
