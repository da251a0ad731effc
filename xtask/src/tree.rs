//! The text files of the repository, read once and handed to every check.

use std::fs;
use std::path::Path;

use crate::report::Failure;
use crate::rust_text::RustText;

/// Endings of the files that are read.
const EXTENSIONS: [&str; 7] = ["rs", "md", "toml", "yml", "yaml", "sh", "slt"];

/// Hidden folders that hold files of ours.
const HIDDEN_FOLDERS: [&str; 3] = [".ci", ".cargo", ".github"];

/// Holds one file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path from the root, separated by `/`.
    pub(crate) path: String,
    /// Content; bytes that are not UTF-8 are replaced, and the ASCII rule then names them.
    pub(crate) text: String,
    /// Code and comments told apart; only for `.rs` files.
    pub(crate) rust: Option<RustText>,
}

impl SourceFile {
    /// Makes a file from its path and content.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let rust = path.ends_with(".rs").then(|| RustText::new(text));
        SourceFile { path: path.to_owned(), text: text.to_owned(), rust }
    }

    /// Returns the ending of the name without its dot, or nothing.
    pub(crate) fn extension(&self) -> &str {
        self.file_name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Returns the last part of the path.
    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Holds all files, ordered by path.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) files: Vec<SourceFile>,
    /// Every path that exists, folders included, whatever its ending.
    paths: Vec<String>,
}

impl Tree {
    /// Reads the tree under `root`, leaving out build output and hidden folders.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Tree, Failure> {
        let mut tree = Tree { files: Vec::new(), paths: Vec::new() };
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        tree.paths.sort();
        Ok(tree)
    }

    /// Makes a tree for a test from paths and contents.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Tree {
        let mut paths: Vec<String> = Vec::new();
        for (path, _) in files {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            paths.extend(ends.map(|end| path[..end].to_owned()));
        }
        paths.sort();
        let files = files.iter().map(|(path, text)| SourceFile::new(path, text)).collect();
        Tree { files, paths }
    }

    /// Returns the file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Tells whether a file or folder is at `path`; the empty path is the root.
    pub(crate) fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.paths.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
    }

    /// Returns the `.rs` files with their text told apart.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&SourceFile, &RustText)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), Failure> {
        let failure = |error| Failure(format!("cannot read {}: {error}", folder.display()));
        for entry in fs::read_dir(folder).map_err(failure)? {
            let entry = entry.map_err(failure)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.file_type().map_err(failure)?.is_dir() {
                let is_hidden = name.starts_with('.') && !HIDDEN_FOLDERS.contains(&name.as_str());
                if name != "target" && !is_hidden {
                    self.read_folder(&entry.path(), &format!("{path}/"))?;
                    self.paths.push(path);
                }
                continue;
            }
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            if EXTENSIONS.contains(&ending) || prefix == ".ci/" {
                let bytes = fs::read(entry.path()).map_err(|error| {
                    Failure(format!("cannot read {}: {error}", entry.path().display()))
                })?;
                self.files.push(SourceFile::new(&path, &String::from_utf8_lossy(&bytes)));
            }
            self.paths.push(path);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_file_exist() {
        let tree = Tree::from_files(&[("docs/a/b.md", "")]);
        assert!(tree.exists("docs/a") && tree.exists("docs/a/b.md") && tree.exists(""));
        assert!(!tree.exists("docs/b"));
    }

    #[test]
    fn this_repository_has_this_file() {
        let tree = Tree::read(&crate::root()).unwrap();
        assert!(tree.file("xtask/src/tree.rs").unwrap().text.contains("this_repository_has"));
        assert!(!tree.exists("target") && !tree.exists(".git"));
    }
}
