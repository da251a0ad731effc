//! Roles: who there is, and what a password is checked by.
//!
//! # Invariants
//! 1. The role [`BOOTSTRAP_ROLE`] is always there, as the superuser with the number
//!    [`BOOTSTRAP_ROLE_OID`].
//! 2. A password in clear is never here; a verifier is shown by no `Debug`.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record", kind 26.

use std::fmt;

use crate::codec::{Decoder, Encoder, Truncated};
use crate::schema::check_name;

/// The role that is there from the beginning.
pub const BOOTSTRAP_ROLE: &str = "nacre";

/// Its number, as that of PostgreSQL's.
pub const BOOTSTRAP_ROLE_OID: u32 = 10;

/// Longest text of a verifier in bytes.
const VERIFIER_BYTES_MAX: usize = 4096;

/// What a role may, as a set of bits.
const SUPERUSER: u8 = 1;
const LOGIN: u8 = 2;
const CREATEDB: u8 = 4;
const CREATEROLE: u8 = 8;
const INHERIT: u8 = 16;
const ALL: u8 = SUPERUSER | LOGIN | CREATEDB | CREATEROLE | INHERIT;

/// A role that another one is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Number of the role.
    pub role: u32,
    /// Whether the member may make others members.
    pub is_admin: bool,
}

/// The definition of a role.
#[derive(Clone, PartialEq, Eq)]
pub struct RoleDef {
    /// Stays the same for as long as the role is there; no other role ever gets it.
    pub oid: u32,
    pub name: String,
    pub is_superuser: bool,
    pub can_login: bool,
    pub can_create_db: bool,
    pub can_create_role: bool,
    pub inherits: bool,
    /// Sessions at a time, if there is a limit.
    pub connection_limit: Option<u32>,
    /// When the password ends, in microseconds since 1970.
    pub valid_until: Option<i64>,
    /// Text of what a password is checked by.
    pub verifier: Option<String>,
    pub member_of: Vec<Membership>,
}

impl fmt::Debug for RoleDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RoleDef");
        shown.field("oid", &self.oid).field("name", &self.name);
        shown.field("has_password", &self.verifier.is_some()).finish_non_exhaustive()
    }
}

impl RoleDef {
    /// Returns the role that is there from the beginning, as it is then.
    pub fn bootstrap() -> Self {
        Self {
            oid: BOOTSTRAP_ROLE_OID,
            name: BOOTSTRAP_ROLE.to_owned(),
            is_superuser: true,
            can_login: true,
            can_create_db: true,
            can_create_role: true,
            inherits: true,
            connection_limit: None,
            valid_until: None,
            verifier: None,
            member_of: Vec::new(),
        }
    }

    /// Checks that the role fits its record and is one that may be.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        check_name("role", &self.name)?;
        let is_bootstrap = self.oid == BOOTSTRAP_ROLE_OID;
        if is_bootstrap != (self.name == BOOTSTRAP_ROLE) || is_bootstrap && !self.is_superuser {
            return Err(format!("role \"{BOOTSTRAP_ROLE}\" is the superuser that is always there"));
        }
        match self.verifier.as_ref().is_some_and(|text| text.len() > VERIFIER_BYTES_MAX) {
            true => Err(format!("the verifier has more than {VERIFIER_BYTES_MAX} bytes")),
            false => Ok(()),
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_u32(self.oid);
        encoder.put_str(&self.name);
        let bits = [
            (self.is_superuser, SUPERUSER),
            (self.can_login, LOGIN),
            (self.can_create_db, CREATEDB),
            (self.can_create_role, CREATEROLE),
            (self.inherits, INHERIT),
        ];
        encoder.put_u8(bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum());
        encoder.put_u32(self.connection_limit.unwrap_or(u32::MAX));
        encoder.put_u64(self.valid_until.unwrap_or(i64::MAX) as u64);
        encoder.put_str(self.verifier.as_deref().unwrap_or_default());
        encoder.put_u16(self.member_of.len() as u16);
        for membership in &self.member_of {
            encoder.put_u32(membership.role);
            encoder.put_u8(u8::from(membership.is_admin));
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> std::result::Result<Self, Truncated> {
        let (oid, name, bits) = (decoder.u32()?, decoder.string()?, decoder.u8()?);
        if bits & !ALL != 0 {
            return Err(Truncated);
        }
        let (limit, valid_until) = (decoder.u32()?, decoder.u64()? as i64);
        let verifier = decoder.string()?;
        let membership = |decoder: &mut Decoder<'_>| {
            let (role, is_admin) = (decoder.u32()?, decoder.u8()?);
            if is_admin > 1 {
                Err(Truncated)
            } else {
                Ok(Membership { role, is_admin: is_admin == 1 })
            }
        };
        let member_of = (0..decoder.u16()?).map(|_| membership(decoder));
        Ok(Self {
            oid,
            name,
            is_superuser: bits & SUPERUSER != 0,
            can_login: bits & LOGIN != 0,
            can_create_db: bits & CREATEDB != 0,
            can_create_role: bits & CREATEROLE != 0,
            inherits: bits & INHERIT != 0,
            connection_limit: Some(limit).filter(|limit| *limit != u32::MAX),
            valid_until: Some(valid_until).filter(|time| *time != i64::MAX),
            verifier: Some(verifier).filter(|text| !text.is_empty()),
            member_of: member_of.collect::<std::result::Result<_, Truncated>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(oid: u32, name: &str) -> RoleDef {
        RoleDef {
            oid,
            name: name.into(),
            is_superuser: false,
            can_create_db: false,
            connection_limit: Some(3),
            valid_until: Some(-5),
            verifier: Some("SCRAM-SHA-256$1:s$a:b".into()),
            member_of: vec![Membership { role: BOOTSTRAP_ROLE_OID, is_admin: true }],
            ..RoleDef::bootstrap()
        }
    }

    #[test]
    fn roles_survive_encoding_and_every_cut_is_noticed() {
        for role in [role(20, "r"), RoleDef::bootstrap()] {
            let mut encoder = Encoder::default();
            role.encode(&mut encoder);
            let bytes = encoder.into_bytes();
            assert_eq!(RoleDef::decode(&mut Decoder::new(&bytes)), Ok(role));
            for end in 0..bytes.len() {
                assert_eq!(RoleDef::decode(&mut Decoder::new(&bytes[..end])), Err(Truncated));
            }
        }
    }
}
