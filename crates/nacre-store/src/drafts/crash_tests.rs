//! Transactions that define tables under the crash simulator: whatever a crash leaves, tables,
//! their rows and owners, and roles are those of some number of commits, at least of the
//! acknowledged ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_pmem::Domain;
use nacre_pmem::sim::{Crash, Marks, Outcome};

use crate::access::{AccessChange, Grant, ObjectAccess, RoleDef, Securable};
use crate::crash_support::{explore_share, lines, pages};
use crate::mvcc::IsolationLevel;
use crate::redo::RedoOptions;
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::ValueRef;

const REDO: RedoOptions = RedoOptions { segment_bytes: 1024, is_compressed: false };

/// Tables by name, each with its rows, who owns it, and to whom it grants something; and the
/// numbers of all roles.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    tables: BTreeMap<String, (Vec<i64>, u32, Vec<u32>)>,
    roles: Vec<u32>,
}

fn open(domains: &[Domain]) -> crate::Result<Store> {
    Ok(Store::open_in(domains[0].clone(), REDO)?.for_session())
}

fn schema(name: &str) -> TableSchema {
    let column = ColumnDef {
        name: "a".into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![column],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

/// Creates the table that all transactions write, and the table that all empty.
fn create(domains: &[Domain]) -> Outcome {
    let store = open(domains)?;
    store.create_table(schema("all"))?;
    store.create_table(schema("emptied"))?;
    Ok(())
}

/// The role that commit `number` makes.
fn role(number: i64) -> RoleDef {
    let (oid, name) = (20 + number as u32, format!("r{number}"));
    RoleDef { oid, name, is_superuser: false, ..RoleDef::bootstrap() }
}

/// Commit `number` makes a role and a table of it with a row, puts a row into another one, which it
/// grants the role something of, empties a third one for its row, and each second time drops the
/// table and the role of the commit before.
fn commit(store: &Store, number: i64) -> Outcome {
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.define()?;
    let role = role(number);
    let owner = role.oid;
    store.set_creator(owner);
    let grant = Grant { grantee: owner, grantor: 10, privileges: 2, grantable: 0 };
    let grants = ObjectAccess { owner: 10, grants: Some(vec![grant]) };
    let all = Securable::Table(store.table("all")?.id());
    store.change_access(&[AccessChange::Role(role), AccessChange::Object(all, grants)])?;
    let table = store.create_table(schema(&format!("t{number}")))?;
    tx.insert(&table, &[ValueRef::Int(number)])?;
    tx.insert(&store.table("all")?, &[ValueRef::Int(number)])?;
    tx.truncate_tables(&[store.table("emptied")?])?;
    tx.insert(&store.table("emptied")?, &[ValueRef::Int(number)])?;
    if number % 2 == 1 {
        store.drop_table(&format!("t{}", number - 1))?;
        store.change_access(&[AccessChange::RoleDropped(owner - 1)])?;
    }
    tx.commit()?;
    Ok(())
}

fn state(store: &Store) -> crate::Result<State> {
    let access = store.access();
    let roles = access.roles().map(|role| role.oid).collect();
    let mut found = State { roles, ..State::default() };
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for table in store.tables() {
        let mut rows = Vec::new();
        tx.scan(&table, &[], &[0], |_, values| {
            rows.extend(values.iter().map(|value| match value {
                ValueRef::Int(value) => *value,
                _ => -1,
            }));
        })?;
        let own = access.object(&Securable::Table(table.id()));
        let grantees = own.grants.iter().flatten().map(|grant| grant.grantee).collect();
        found.tables.insert(table.schema().name.clone(), (rows, own.owner, grantees));
    }
    Ok(found)
}

/// Returns what there is after each number of commits.
fn states(count: i64) -> Vec<State> {
    let store = Store::open(OpenOptions::default()).unwrap().for_session();
    store.create_table(schema("all")).unwrap();
    store.create_table(schema("emptied")).unwrap();
    let mut states = vec![state(&store).unwrap()];
    for number in 0..count {
        commit(&store, number).unwrap();
        states.push(state(&store).unwrap());
    }
    states
}

fn check(crash: &Crash<'_>, states: &[State]) -> Outcome {
    let acknowledged = crash.marks().last().copied().unwrap_or(0) as usize;
    let store = open(crash.domains())?;
    crash.recovered();
    let found = state(&store)?;
    let possible = acknowledged..=acknowledged + 1;
    let Some(count) = possible.clone().find(|&count| states.get(count) == Some(&found)) else {
        return Err(format!("{found:?} after {acknowledged} commits").into());
    };
    if count + 1 < states.len() {
        commit(&store, count as i64)?;
        drop(store);
        let found = state(&open(crash.domains())?)?;
        if found != states[count + 1] {
            return Err(format!("{found:?} after commit {count} went on").into());
        }
    }
    Ok(())
}

#[test]
fn tables_and_rows_of_a_commit_are_there_together_after_any_crash() {
    const COMMITS: i64 = 5;
    let states = states(COMMITS + 1);
    for media in [lines(), pages()] {
        explore_share("definitions of a transaction", 100, |explorer, _| {
            let explored = explorer.media(&[media]).run(
                create,
                |domains: &[Domain], marks: &Marks<'_>| {
                    let store = open(domains)?;
                    for number in 0..COMMITS {
                        commit(&store, number)?;
                        marks.note(number as u64 + 1);
                    }
                    Ok(())
                },
                |crash| check(crash, &states),
            );
            explored.unwrap_or_else(|violation| panic!("{violation}"))
        });
    }
}

/// A record that cannot be written leaves the group of the transaction in the log, where it must
/// not count: neither now nor after a restart, nor for the next transaction.
#[test]
fn group_without_its_record_never_counts() {
    let directory = tempfile::tempdir().unwrap();
    let options =
        || OpenOptions { directory: Some(directory.path().join("db")), ..OpenOptions::default() };
    let store = Store::open(options()).unwrap().for_session();
    let all: Arc<Table> = store.create_table(schema("all")).unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.insert(&all, &[ValueRef::Int(1)]).unwrap();
    tx.commit().unwrap();
    let log = store.redo_log().unwrap().unwrap();
    let mut lost = crate::redo::RedoBuffer::default();
    lost.insert(all.id(), crate::id::RowId::hot(0, 1), &[ValueRef::Int(2)]);
    lost.mark_definitions();
    let order = |ts| {
        log.append(ts, &lost)?;
        Err(crate::Error::ReadOnly)
    };
    let refused = store.all_transactions().commit(None, order, |()| Ok(()));
    assert!(refused.is_err());
    let mut tx = store.begin(IsolationLevel::Serializable);
    tx.insert(&all, &[ValueRef::Int(3)]).unwrap();
    tx.commit().unwrap();
    let tables = [("all".to_owned(), (vec![1, 3], 10, Vec::new()))].into();
    let expected = State { tables, roles: vec![10] };
    assert_eq!(state(&store).unwrap(), expected);
    drop((store, all));
    let store = Store::open(options()).unwrap();
    assert_eq!(state(&store).unwrap(), expected);
}
