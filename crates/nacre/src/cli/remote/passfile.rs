//! Passwords that a user keeps in a file: `PGPASSFILE`, else `~/.pgpass`.
//!
//! A line is `host:port:database:user:password`; `*` fits all, `\` makes the next character an
//! ordinary one. A file that others may read is not used, as in `libpq`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::target::Target;

/// Returns the password that the file has for a target.
pub(super) fn password(target: &Target) -> Option<String> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))?;
    let metadata = fs::metadata(&path).ok()?;
    if metadata.mode() & 0o077 != 0 {
        let path = path.display();
        crate::cli::report::print(&format!(
            "WARNING:  password file \"{path}\" has group or world access: it is not used; \
             permissions should be u=rw (0600) or less\n"
        ));
        return None;
    }
    find(&fs::read_to_string(path).ok()?, target)
}

fn find(text: &str, target: &Target) -> Option<String> {
    let port = target.port.to_string();
    let wanted = [&target.host, &port, &target.database, &target.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line);
        let password = (fields.len() == 5).then(|| fields.pop()).flatten()?;
        let fits = |(field, wanted): (&Field, &&String)| field.is_any || field.text == **wanted;
        fields.iter().zip(&wanted).all(fits).then_some(password.text)
    })
}

#[derive(Default)]
struct Field {
    text: String,
    /// A star that stands for everything.
    is_any: bool,
}

fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let is_last = fields.len() == 5;
        let Some(field) = fields.last_mut() else { break };
        match c {
            '\\' => {
                field.text.extend(chars.next());
                field.is_any = false;
            }
            ':' if !is_last => fields.push(Field::default()),
            c => {
                field.is_any = c == '*' && field.text.is_empty();
                field.text.push(c);
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_that_fits_has_the_password() {
        let target = Target::new("host=h user=u dbname=d port=1", |_| None).unwrap();
        let file = "# comment\nh:2:d:u:no\n*:1:*:u:a\\:b:c\n*:*:*:*:last\n";
        assert_eq!(find(file, &target).as_deref(), Some("a:b:c"));
        let other = Target { user: "v".to_owned(), ..target.clone() };
        assert_eq!(find(file, &other).as_deref(), Some("last"));
        assert_eq!(find("h:1:d:u\n\\*:1:d:u:x\n", &target), None);
    }
}
