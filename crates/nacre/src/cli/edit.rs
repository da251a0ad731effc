//! `\e`: a statement in the user's editor.

use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

/// Lets the user edit a text and returns what was saved.
///
/// # Errors
/// If the editor cannot be started, gives up, or leaves no UTF-8 behind.
pub(crate) fn edit(text: &str) -> Result<String, String> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(std::env::var_os);
    let editor = editor.filter(|editor| !editor.is_empty()).unwrap_or_else(|| "vi".into());
    let failed = |error: std::io::Error| format!("cannot edit the statement: {error}");
    let mut file = tempfile::Builder::new().suffix(".sql").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(failed)?;
    // Through a shell, because EDITOR may hold arguments: `code --wait`.
    let status = Command::new("sh")
        .args(["-c", "$0 \"$1\""])
        .args([&editor, file.path().as_os_str()])
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(format!("the editor {} ended with {status}", editor.to_string_lossy()));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}
