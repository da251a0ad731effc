//! What cargo knows of our packages: `cargo metadata`, reduced to the fields that checks read.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::report::Failure;

/// Holds one package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// SPDX expression.
    pub(crate) license: Option<String>,
    /// Where it comes from; none for our own packages.
    pub(crate) source: Option<String>,
    pub(crate) targets: Vec<Target>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// Holds one thing that cargo builds from a package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// `lib`, `bin`, `test`, `bench`, `example`, `custom-build`, `proc-macro`.
    pub(crate) kind: String,
    /// Path of its root file from the root of the repository.
    pub(crate) path: String,
}

/// Holds one line of a package's dependencies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) is_optional: bool,
}

/// Holds the packages of the workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    /// Asks cargo for our own packages; needs neither network nor registry.
    ///
    /// # Errors
    /// Cargo cannot be run or rejects the workspace.
    pub(crate) fn read(root: &Path) -> Result<Workspace, Failure> {
        let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
        Ok(Workspace { packages: packages(&cargo(root, &arguments)?, root)? })
    }
}

/// Runs cargo in `root` and returns what it prints.
///
/// # Errors
/// Cargo cannot be run or fails; the text holds what it said.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let shown = format!("cargo {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| Failure(format!("{shown}: {error}")))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure(format!("{shown}: {}: {reason}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the packages in the output of `cargo metadata`.
///
/// # Errors
/// The output is not what format version 1 promises.
pub(crate) fn packages(json: &str, root: &Path) -> Result<Vec<Package>, Failure> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Failure(format!("cargo metadata: output is not JSON: {error}")))?;
    let list = value["packages"]
        .as_array()
        .ok_or_else(|| Failure("cargo metadata: output has no packages".to_owned()))?;
    Ok(list.iter().map(|package| package_of(package, root)).collect())
}

fn package_of(value: &Value, root: &Path) -> Package {
    Package {
        name: text(&value["name"]),
        version: text(&value["version"]),
        license: value["license"].as_str().map(str::to_owned),
        source: value["source"].as_str().map(str::to_owned),
        targets: items(&value["targets"])
            .map(|target| Target {
                kind: text(&target["kind"][0]),
                path: relative(&text(&target["src_path"]), root),
            })
            .collect(),
        dependencies: items(&value["dependencies"])
            .map(|dependency| Dependency {
                name: text(&dependency["name"]),
                is_optional: dependency["optional"].as_bool().unwrap_or(false),
            })
            .collect(),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn relative(path: &str, root: &Path) -> String {
    let path = Path::new(path);
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_metadata() {
        let json = r#"{"packages": [{"name": "a", "version": "1.2.3", "license": "MIT",
            "source": null, "targets": [{"kind": ["lib"], "src_path": "/r/a/src/lib.rs"}],
            "dependencies": [{"name": "b", "kind": "dev", "optional": true}]}]}"#;
        let found = packages(json, Path::new("/r")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].license.as_deref()), ("a", Some("MIT")));
        assert_eq!(found[0].targets[0].path, "a/src/lib.rs");
        assert!(found[0].dependencies[0].is_optional && found[0].source.is_none());
    }

    #[test]
    fn other_output_is_a_failure() {
        assert!(packages("", Path::new("/r")).is_err());
        assert!(packages("{}", Path::new("/r")).is_err());
    }

    #[test]
    fn failing_cargo_tells_why() {
        let failure = cargo(&crate::root(), &["no-such-command"]).unwrap_err();
        assert!(failure.to_string().contains("no-such-command"), "{failure}");
    }
}
