//! Who owns an object, and what it grants to whom.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Manifest record", kind 28.

use super::role::BOOTSTRAP_ROLE_OID;
use crate::codec::{Decoder, Encoder, Truncated};
use crate::manifest::TableId;

/// Stands for everybody where a role is granted something.
pub const PUBLIC_ROLE: u32 = 0;

/// Most grants of one object: they fit a record.
const GRANTS_MAX: usize = 60_000;

/// What has an owner and grants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Securable {
    Table(TableId),
    View(String),
    Sequence(String),
    /// The schema that users' objects are in.
    Schema,
    Database,
}

/// What one role granted to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Number of the role that may, or [`PUBLIC_ROLE`].
    pub grantee: u32,
    pub grantor: u32,
    /// A set of bits, whose meaning is not the store's.
    pub privileges: u16,
    /// Those of them that may be granted on.
    pub grantable: u16,
}

/// The owner of an object, and its grants; by default nobody has said anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAccess {
    pub owner: u32,
    /// `None` as long as nothing was granted or revoked.
    pub grants: Option<Vec<Grant>>,
}

impl ObjectAccess {
    /// What is meant where nothing is recorded.
    pub const DEFAULT: Self = Self { owner: BOOTSTRAP_ROLE_OID, grants: None };

    /// Returns that of something new.
    pub fn owned_by(owner: u32) -> Self {
        Self { owner, grants: None }
    }

    /// Returns the numbers of all roles that it names.
    pub fn roles(&self) -> impl Iterator<Item = u32> {
        let grants = self.grants.iter().flatten();
        let named = grants.flat_map(|grant| [grant.grantee, grant.grantor]);
        std::iter::once(self.owner).chain(named.filter(|role| *role != PUBLIC_ROLE))
    }

    /// Checks that it fits its record.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        match self.grants.as_ref().map_or(0, Vec::len) {
            count if count > GRANTS_MAX => {
                Err(format!("an object has {count} grants, more than {GRANTS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.put_u32(self.owner);
        encoder.put_u8(u8::from(self.grants.is_some()));
        let grants = self.grants.as_deref().unwrap_or_default();
        encoder.put_u16(grants.len() as u16);
        for grant in grants {
            encoder.put_u32(grant.grantee);
            encoder.put_u32(grant.grantor);
            encoder.put_u16(grant.privileges);
            encoder.put_u16(grant.grantable);
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> std::result::Result<Self, Truncated> {
        let (owner, has_grants) = (decoder.u32()?, decoder.u8()?);
        let grant = |decoder: &mut Decoder<'_>| {
            let (grantee, grantor) = (decoder.u32()?, decoder.u32()?);
            let (privileges, grantable) = (decoder.u16()?, decoder.u16()?);
            Ok(Grant { grantee, grantor, privileges, grantable })
        };
        let grants = (0..decoder.u16()?).map(|_| grant(decoder));
        let grants = grants.collect::<std::result::Result<Vec<_>, Truncated>>()?;
        match (has_grants, grants.is_empty()) {
            (1, _) => Ok(Self { owner, grants: Some(grants) }),
            (0, true) => Ok(Self { owner, grants: None }),
            _ => Err(Truncated),
        }
    }
}

impl Securable {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        match self {
            Self::Table(table) => {
                encoder.put_u8(1);
                encoder.put_u64(table.0);
            }
            Self::View(name) => {
                encoder.put_u8(2);
                encoder.put_str(name);
            }
            Self::Sequence(name) => {
                encoder.put_u8(3);
                encoder.put_str(name);
            }
            Self::Schema => encoder.put_u8(4),
            Self::Database => encoder.put_u8(5),
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> std::result::Result<Self, Truncated> {
        Ok(match decoder.u8()? {
            1 => Self::Table(TableId(decoder.u64()?)),
            2 => Self::View(decoder.string()?),
            3 => Self::Sequence(decoder.string()?),
            4 => Self::Schema,
            5 => Self::Database,
            _ => return Err(Truncated),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_survives_encoding_and_every_cut_is_noticed() {
        let grant = Grant { grantee: 0, grantor: 10, privileges: 3, grantable: 1 };
        for (object, grants) in [
            (Securable::Table(TableId(7)), Some(vec![grant, Grant { grantee: 9, ..grant }])),
            (Securable::View("v".into()), Some(vec![])),
            (Securable::Sequence("s".into()), None),
            (Securable::Schema, None),
            (Securable::Database, None),
        ] {
            let access = ObjectAccess { owner: 16_384, grants };
            let mut encoder = Encoder::default();
            object.encode(&mut encoder);
            access.encode(&mut encoder);
            let bytes = encoder.into_bytes();
            let decode = |bytes: &[u8]| {
                let mut decoder = Decoder::new(bytes);
                Ok((Securable::decode(&mut decoder)?, ObjectAccess::decode(&mut decoder)?))
            };
            assert_eq!(decode(&bytes), Ok((object, access)));
            for end in 0..bytes.len() {
                assert_eq!(decode(&bytes[..end]), Err(Truncated));
            }
        }
    }
}
