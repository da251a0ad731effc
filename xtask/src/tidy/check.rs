//! Runs all tidy rules.

use super::{documents, functions, lines, modules};
use crate::metadata::Workspace;
use crate::report::{Failure, Finding};
use crate::tree::Tree;

/// Checks the form of all files in `tree`.
///
/// # Errors
/// The list of long functions cannot be read.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings: Vec<Finding> = tree.files.iter().flat_map(lines::check).collect();
    findings.extend(functions::check(tree, &crate::root())?);
    findings.extend(modules::check(tree, &workspace.packages));
    findings.extend(documents::check(tree));
    Ok(findings)
}
