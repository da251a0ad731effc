//! The manifest under the crash simulator: whatever a crash leaves, acknowledged records are
//! there, in order, and no record is there in part.

use nacre_pmem::sim::{Crash, Explorer, Marks, Outcome, Report};
use nacre_pmem::{Access, Domain};

use super::header::{OLDEST_VERSION, PUBLISHED_OFFSET, VERSION, VERSION_OFFSET};
use super::log::{DatabaseId, Manifest};
use super::open::is_member_file;
use super::record::{Record, TableId};
use crate::access::{Grant, ObjectAccess, RoleDef, Securable};
use crate::crash_support::{explore_share, lines, pages};
use crate::foreign_key::{ForeignKeyAction, ForeignKeyDef};
use crate::index::{IndexDef, IndexKind, IndexOrigin};
use crate::schema::{ColumnDef, TableSchema};

const ID: DatabaseId = DatabaseId(*b"0123456789abcdef");

/// Share of the manifest, over all of its tests.
const PERCENT: usize = 10;

/// Explores this test's part of the manifest's images.
fn explore(structure: &str, percent: usize, round: impl Fn(Explorer, u64) -> Report) {
    explore_share(structure, PERCENT * percent, round);
}

/// Record `number` of a workload: `bytes` long or a little more, and unlike every other.
fn record(number: u64, bytes: usize) -> Record {
    match bytes {
        0 => Record::TableDropped { table: TableId(number) },
        _ => Record::Domain { name: format!("d{number}"), path: "x".repeat(bytes) },
    }
}

fn script(seed: u64, count: u64, bytes: usize) -> Vec<Record> {
    (0..count).map(|number| record(seed * 1000 + number, bytes)).collect()
}

/// Opens as the store does: the first domain has two members, each other one has one.
fn open(domains: &[Domain], access: Access) -> crate::Result<(Manifest, Vec<Record>)> {
    let mut found = Vec::new();
    let main = std::slice::from_ref(&domains[0]);
    let mut manifest = Manifest::open(main, access, |_, records| {
        found = records.to_vec();
        Ok(domains[1..].to_vec())
    })?;
    if access == Access::ReadWrite {
        manifest.repair(&domains[0], &domains[1..], true);
    }
    Ok((manifest, found))
}

fn create(domains: &[Domain]) -> Outcome {
    drop(Manifest::create(ID, 1, &domains[0])?);
    drop(open(domains, Access::ReadWrite)?);
    Ok(())
}

fn append(domains: &[Domain], script: &[Record], marks: &Marks<'_>) -> Outcome {
    let (mut manifest, _) = open(domains, Access::ReadWrite)?;
    for (number, record) in script.iter().enumerate() {
        manifest.append(record)?;
        marks.note(number as u64 + 1);
    }
    Ok(())
}

/// Reads as a reader, reopens, compares with what was acknowledged, and appends once more.
fn check(crash: &Crash<'_>, script: &[Record]) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let is_right = |found: &[Record]| {
        let is_prefix = script.starts_with(found);
        match is_prefix && (acknowledged..=acknowledged + 1).contains(&found.len()) {
            true => Ok(()),
            false => Err(format!("{} records after {acknowledged}", found.len())),
        }
    };
    let (reader, found) = open(crash.domains(), Access::ReadOnly)?;
    is_right(&found)?;
    drop(reader);
    let (mut manifest, found) = open(crash.domains(), Access::ReadWrite)?;
    crash.recovered();
    is_right(&found)?;
    if let Some(note) = manifest.notes().iter().find(|note| !note.contains("rebuilt from")) {
        return Err(note.clone().into());
    }
    let last = record(u64::MAX, 20);
    manifest.append(&last)?;
    drop(manifest);
    let (manifest, again) = open(crash.domains(), Access::ReadWrite)?;
    let expected: Vec<Record> = found.into_iter().chain([last]).collect();
    match again == expected && manifest.notes().is_empty() {
        true => Ok(()),
        false => Err(format!("{} records, then {:?}", again.len(), manifest.notes()).into()),
    }
}

#[test]
fn acknowledged_records_are_there_after_any_crash() {
    for (percent, media) in [(15, vec![lines()]), (10, vec![pages()]), (20, vec![lines(), lines()])]
    {
        explore(&format!("manifest in {} domains", media.len()), percent, |explorer, seed| {
            let script = script(seed, 6, 40 * (seed as usize % 3));
            let explored = explorer.media(&media).run(
                create,
                |domains, marks| append(domains, &script, marks),
                |crash| check(crash, &script),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}

#[test]
fn growing_may_be_interrupted() {
    explore("manifest that grows", 15, |explorer, seed| {
        let script = script(seed, 3, 30_000);
        let explored = explorer.media(&[lines(), pages()]).run(
            create,
            |domains, marks| append(domains, &script, marks),
            |crash| check(crash, &script),
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

#[test]
fn creating_may_be_interrupted() {
    explore("manifest that is created", 20, |explorer, seed| {
        let script = script(seed, 2, 0);
        let explored = explorer.domains(2).run(
            |_| Ok(()),
            |domains, marks| {
                create(domains)?;
                append(domains, &script, marks)
            },
            |crash| {
                let names = crash.domains()[0].list_pools()?;
                if names.iter().any(|name| is_member_file(name)) {
                    return check(crash, &script);
                }
                match crash.marks() {
                    [] => create(crash.domains()),
                    marks => Err(format!("nothing is there after {marks:?}").into()),
                }
            },
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

/// A table with an index and a foreign key, and then without them.
fn keyed_table(number: u64) -> [Vec<Record>; 2] {
    let table = TableId(number);
    let column = ColumnDef {
        name: "a".into(),
        column_type: nacre_column::ColumnType::Integer,
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: format!("t{number}"),
        columns: vec![column],
        primary_key: Some(vec![0]),
        primary_key_name: "p".into(),
        replicas: None,
    };
    let definition = IndexDef {
        name: format!("i{number}"),
        columns: vec![0],
        is_unique: true,
        kind: IndexKind::Art,
        origin: IndexOrigin::Statement,
    };
    let key = ForeignKeyDef {
        name: "f".into(),
        columns: vec![0],
        referenced: None,
        referenced_columns: vec![0],
        on_delete: ForeignKeyAction::Cascade,
        on_update: ForeignKeyAction::NoAction,
    };
    let name = definition.name.clone();
    [
        vec![
            Record::TableCreated { table, schema },
            Record::IndexCreated { table, definition },
            Record::ForeignKeys { table, keys: vec![key] },
        ],
        vec![
            Record::ForeignKeys { table, keys: Vec::new() },
            Record::IndexDropped { table, name },
            Record::TableDropped { table },
        ],
    ]
}

/// Two roles of which one is granted something of a table by the other one, and then nothing of
/// that.
fn granted_roles(number: u64) -> [Vec<Record>; 2] {
    let (one, other) = (20 + number as u32 * 2, 21 + number as u32 * 2);
    let role = |oid| {
        let name = format!("r{oid}");
        Record::RoleDefined(RoleDef { oid, name, is_superuser: false, ..RoleDef::bootstrap() })
    };
    let grant = Grant { grantee: other, grantor: one, privileges: 3, grantable: 1 };
    let access = ObjectAccess { owner: one, grants: Some(vec![grant]) };
    let object = Securable::Table(TableId(number));
    let default = ObjectAccess::DEFAULT;
    [
        vec![role(one), role(other), Record::AccessChanged { object: object.clone(), access }],
        vec![
            Record::AccessChanged { object, access: default },
            Record::RoleDropped { oid: one },
            Record::RoleDropped { oid: other },
        ],
    ]
}

#[test]
fn records_that_belong_together_are_there_together() {
    explore("manifest with records together", 10, |explorer, seed| {
        let [made, gone] = keyed_table(seed * 9 + 1);
        let [granted, revoked] = granted_roles(seed * 9 + 1);
        let groups: Vec<Vec<Record>> = vec![made, granted, revoked, gone];
        let script: Vec<Record> = groups.concat();
        let explored = explorer.media(&[lines(), lines()]).run(
            create,
            |domains, marks| {
                let (mut manifest, _) = open(domains, Access::ReadWrite)?;
                for (number, group) in groups.iter().enumerate() {
                    manifest.append_all(group)?;
                    marks.note(number as u64 + 1);
                }
                Ok(())
            },
            |crash| {
                let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
                let (_, found) = open(crash.domains(), Access::ReadWrite)?;
                crash.recovered();
                let is_whole = found.len() % 3 == 0 && script.starts_with(&found);
                match is_whole && (acknowledged..=acknowledged + 1).contains(&(found.len() / 3)) {
                    true => Ok(()),
                    false => {
                        Err(format!("{} records of {acknowledged} groups", found.len()).into())
                    }
                }
            },
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

/// Makes a manifest as the version before wrote it.
fn create_old(domains: &[Domain]) -> Outcome {
    create(domains)?;
    let (mut manifest, _) = open(domains, Access::ReadWrite)?;
    let start = manifest.set.data_offset();
    let mut header = manifest.set.read(start, 64)?.to_vec();
    header[8..12].copy_from_slice(&OLDEST_VERSION.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..64]);
    let word = u64::from(OLDEST_VERSION) | u64::from(crc) << 32;
    manifest.set.publish_u64(start + VERSION_OFFSET, word)?;
    Ok(())
}

#[test]
fn new_version_may_be_interrupted() {
    explore("manifest that gets a new version", 10, |explorer, seed| {
        let policy = |number| Record::PolicyChanged {
            table: TableId(seed * 1000 + number),
            column: None,
            policy: None,
        };
        let script = [vec![record(1, 0)], (0..3).map(policy).collect()].concat();
        let explored = explorer.domains(2).run(
            create_old,
            |domains, marks| {
                assert_eq!(open(domains, Access::ReadOnly)?.0.version, OLDEST_VERSION);
                append(domains, &script, marks)?;
                assert_eq!(open(domains, Access::ReadOnly)?.0.version, VERSION);
                Ok(())
            },
            |crash| check(crash, &script),
        );
        explored.unwrap_or_else(|violation| panic!("{violation}"))
    });
}

#[test]
fn record_that_is_published_before_it_is_durable_is_found() {
    let script = script(1, 3, 40);
    let explored = Explorer::new("manifest with a bug", 1).images(1000).run(
        create,
        |domains, marks| {
            let (mut manifest, _) = open(domains, Access::ReadWrite)?;
            for (number, record) in script.iter().enumerate() {
                let bytes = record.to_bytes(number as u64 + 1);
                let (offset, end) = (manifest.end_offset, manifest.end_offset + bytes.len() as u64);
                let published = manifest.set.data_offset() + PUBLISHED_OFFSET;
                manifest.set.publish_u64(published, end)?;
                manifest.set.update(offset, &bytes)?;
                manifest.end_offset = end;
                marks.note(number as u64 + 1);
            }
            Ok(())
        },
        |crash| check(crash, &script),
    );
    assert!(explored.is_err());
}
