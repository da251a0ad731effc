//! Roles and their passwords.
//!
//! # Invariants
//! A password in clear is hashed here and goes no further, into no error either.

use nacre_access::Password;
use nacre_store::{RoleDef, Securable};

use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::privileges::{CONNECT, Kind, rights_of};

impl Database {
    /// Sets the password of a role, given in clear or as a verifier; an empty one is none.
    ///
    /// # Errors
    /// [`ErrorKind::UndefinedObject`] if there is no such role; [`ErrorKind::NotSupported`] for an
    /// MD5 hash; [`ErrorKind::ReadOnly`], [`ErrorKind::DiskFull`], [`ErrorKind::Io`].
    pub fn set_password(&self, role: &str, password: &str) -> Result<()> {
        let found = self.store().role(role).ok_or_else(|| {
            let message = format!("role \"{role}\" does not exist");
            Error::new(ErrorKind::UndefinedObject, message)
        })?;
        let verifier = match Password::new(password) {
            Ok(Password::None) => None,
            Ok(Password::Verifier(verifier)) => Some(verifier.to_string()),
            Err(error) => return Err(Error::new(ErrorKind::NotSupported, error.to_string())),
        };
        let changed = RoleDef { verifier, ..RoleDef::clone(&found) };
        self.store().define_role(changed).map_err(from_store)
    }

    /// Whether a role may begin a session, as far as privileges on the database say.
    pub fn may_connect(&self, role: u32) -> bool {
        let state = self.store().access();
        let access = state.object(&Securable::Database);
        rights_of(&state, role, Kind::Database, access) & CONNECT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::OpenOptions;

    #[test]
    fn password_is_kept_as_a_verifier_only() {
        let database = Database::open(OpenOptions::default()).unwrap();
        let verifier = || database.store().role("nacre").unwrap().verifier.clone();
        database.set_password("nacre", "s3cret").unwrap();
        let kept = verifier().unwrap();
        assert!(kept.starts_with("SCRAM-SHA-256$4096:") && !kept.contains("s3cret"));
        database.set_password("nacre", &kept).unwrap();
        assert_eq!(verifier(), Some(kept), "a verifier is taken as it is");
        database.set_password("nacre", "").unwrap();
        assert_eq!(verifier(), None);
        let error = database.set_password("nobody", "s3cret").unwrap_err();
        assert_eq!(error.sqlstate(), "42704");
        let md5 = "md5a6343a68d964ca596d9752250d54bb8a";
        let error = database.set_password("nacre", md5).unwrap_err();
        assert!(error.sqlstate() == "0A000" && !error.message().contains(md5));
    }
}
