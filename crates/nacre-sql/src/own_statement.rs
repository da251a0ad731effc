//! Statements that the parser of the front end does not know, or not wholly.

use std::path::PathBuf;

use nacre_syntax::LockStatement;

use crate::archive::{ArchiveTarget, parse_archive};
use crate::backup::parse_backup;
use crate::checkpoint::is_checkpoint;
use crate::copy::{CopyStatement, parse_copy};
use crate::cursors::{CursorStatement, parse_cursor};
use crate::error::Result;
use crate::housekeeping::{Housekeeping, parse_housekeeping};
use crate::privileges::{PrivilegeStatement, parse_privileges};
use crate::replicas::{AlterReplicas, parse_alter};
use crate::sequences::{SequenceStatement, parse_sequence};
use crate::settings::{SettingStatement, parse_setting};
use crate::table_as::{TableAs, parse_table_as};
use crate::table_lock::parse_lock;

/// A statement with a syntax of its own.
pub(crate) enum OwnStatement {
    Copy(CopyStatement),
    Privileges(PrivilegeStatement),
    Replicas(AlterReplicas),
    TableAs(Box<TableAs>),
    Sequence(Box<SequenceStatement>),
    Setting(SettingStatement),
    Cursor(CursorStatement),
    Housekeeping(Housekeeping),
    Checkpoint,
    Backup(PathBuf),
    Archive(ArchiveTarget),
    Lock(LockStatement),
}

impl OwnStatement {
    /// Reads `sql` if it is one of these.
    ///
    /// # Errors
    /// `Syntax` with the place; those of the statement's options.
    pub(crate) fn parse(sql: &str) -> Result<Option<Self>> {
        if let Some(copy) = parse_copy(sql)? {
            return Ok(Some(Self::Copy(copy)));
        }
        if let Some(statement) = parse_privileges(sql)? {
            return Ok(Some(Self::Privileges(statement)));
        }
        if let Some(alter) = parse_alter(sql)? {
            return Ok(Some(Self::Replicas(alter)));
        }
        if let Some(table_as) = parse_table_as(sql)? {
            return Ok(Some(Self::TableAs(Box::new(table_as))));
        }
        if let Some(statement) = parse_sequence(sql)? {
            return Ok(Some(Self::Sequence(Box::new(statement))));
        }
        if let Some(statement) = parse_setting(sql)? {
            return Ok(Some(Self::Setting(statement)));
        }
        if let Some(statement) = parse_cursor(sql)? {
            return Ok(Some(Self::Cursor(statement)));
        }
        if let Some(statement) = parse_housekeeping(sql)? {
            return Ok(Some(Self::Housekeeping(statement)));
        }
        if is_checkpoint(sql)? {
            return Ok(Some(Self::Checkpoint));
        }
        if let Some(directory) = parse_backup(sql)? {
            return Ok(Some(Self::Backup(directory)));
        }
        if let Some(target) = parse_archive(sql)? {
            return Ok(Some(Self::Archive(target)));
        }
        Ok(parse_lock(sql).map(Self::Lock))
    }
}
