//! Foreign keys under transactions: no commit leaves a row that refers to nothing, whoever else is
//! at work.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin};
use nacre_store::{
    CheckRule, ColumnDef, ColumnDefault, Error, ErrorKind, ForeignKeyAction, ForeignKeyDef,
    IsolationLevel, OpenOptions, RowId, RowRefused, RowRules, Store, Table, TableKeys, TableRules,
    TableSchema, Transaction, Value, ValueRef,
};

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::Serializable, IsolationLevel::RepeatableRead, IsolationLevel::ReadCommitted];

fn schema(name: &str, columns: &[(&str, bool)]) -> TableSchema {
    let column = |(name, is_nullable): &(&str, bool)| ColumnDef {
        name: (*name).into(),
        column_type: ColumnType::BigInt,
        is_nullable: *is_nullable,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: columns.iter().map(column).collect(),
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: "auto".parse().ok(),
    }
}

/// Makes a parent (id, v) and a child (id, parent) with those actions.
fn tables(
    store: &Store,
    on_delete: ForeignKeyAction,
    on_update: ForeignKeyAction,
) -> (Arc<Table>, Arc<Table>) {
    let parent = store.create_table(schema("p", &[("id", false), ("v", false)])).unwrap();
    let key = ForeignKeyDef {
        name: "c_p_fkey".into(),
        columns: vec![1],
        referenced: Some(parent.id()),
        referenced_columns: vec![0],
        on_delete,
        on_update,
    };
    let keys = TableKeys { unique: Vec::new(), foreign: vec![key] };
    let child = schema("c", &[("id", false), ("p", true)]);
    (parent, store.create_table_with(child, TableRules::default(), &keys).unwrap())
}

fn volatile(action: ForeignKeyAction) -> (Store, Arc<Table>, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let (parent, child) = tables(&store, action, action);
    (store, parent, child)
}

fn ints(values: &[Option<i64>]) -> Vec<ValueRef<'static>> {
    values.iter().map(|value| value.map_or(ValueRef::Null, ValueRef::Int)).collect()
}

fn insert(
    tx: &mut Transaction,
    table: &Arc<Table>,
    id: i64,
    other: Option<i64>,
) -> Result<RowId, Error> {
    let row = tx.insert(table, &ints(&[Some(id), other]))?;
    tx.check_constraints().map(|()| row)
}

fn find(tx: &mut Transaction, table: &Arc<Table>, id: i64) -> RowId {
    let index = table.indexes()[0].clone();
    let mut found = None;
    tx.lookup(table, &index, &[ValueRef::Int(id)], &[], |row, _| found = Some(row)).unwrap();
    found.unwrap()
}

fn delete(tx: &mut Transaction, table: &Arc<Table>, id: i64) -> Result<(), Error> {
    let row = find(tx, table, id);
    tx.delete(table, row)?;
    tx.check_constraints()
}

fn rows(store: &Store, table: &Arc<Table>) -> Vec<(i64, Option<i64>)> {
    let mut rows = Vec::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.scan(table, &[], &[0, 1], |_, values| match values {
        [ValueRef::Int(id), ValueRef::Int(other)] => rows.push((*id, Some(*other))),
        [ValueRef::Int(id), ValueRef::Null] => rows.push((*id, None)),
        other => panic!("{other:?}"),
    })
    .unwrap();
    rows.sort_unstable();
    rows
}

/// Checks that each row of the child has its parent.
fn check(store: &Store, parent: &Arc<Table>, child: &Arc<Table>) {
    let ids: BTreeSet<i64> = rows(store, parent).into_iter().map(|(id, _)| id).collect();
    for (id, refers) in rows(store, child) {
        assert!(refers.is_none_or(|refers| ids.contains(&refers)), "{id} refers to {refers:?}");
    }
}

fn load(store: &Store, table: &Arc<Table>, rows: &[(i64, Option<i64>)]) -> Result<u64, Error> {
    let mut columns: Vec<ColumnBuffer> =
        (0..2).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
    for (id, other) in rows {
        columns[0].push_int(*id);
        match other {
            Some(other) => columns[1].push_int(*other),
            None => columns[1].push_null(),
        }
    }
    let load = store.begin_load(table)?;
    load.append_chunk(0, &columns)?;
    load.commit()
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// Tables with parents 1 and 2 and children 1 and 2 of them, hot or frozen.
fn bases(action: ForeignKeyAction) -> Vec<(Store, Arc<Table>, Arc<Table>)> {
    let mut bases = Vec::new();
    for frozen in 0..4 {
        let (store, parent, child) = volatile(action);
        for (table, is_frozen) in [(&parent, frozen & 1 == 1), (&child, frozen & 2 == 2)] {
            if is_frozen {
                load(&store, table, &[(1, Some(1)), (2, Some(2))]).unwrap();
            } else {
                let mut tx = store.begin(IsolationLevel::RepeatableRead);
                insert(&mut tx, table, 1, Some(1)).unwrap();
                insert(&mut tx, table, 2, Some(2)).unwrap();
                tx.commit().unwrap();
            }
        }
        bases.push((store, parent, child));
    }
    bases
}

#[test]
fn violations_name_constraint_tables_and_key() {
    for (store, parent, child) in bases(ForeignKeyAction::NoAction) {
        let mut tx = store.begin(IsolationLevel::Serializable);
        let Error::ForeignKeyViolation(missing) = insert(&mut tx, &child, 3, Some(7)).unwrap_err()
        else {
            panic!();
        };
        assert_eq!((missing.columns.as_str(), missing.key.as_str()), ("p", "7"));
        assert_eq!((missing.table.as_str(), missing.referenced.as_str()), ("c", "p"));
        assert_eq!((missing.constraint.as_str(), missing.is_parent_changed), ("c_p_fkey", false));
        tx.rollback();
        let mut tx = store.begin(IsolationLevel::Serializable);
        let Error::ForeignKeyViolation(needed) = delete(&mut tx, &parent, 1).unwrap_err() else {
            panic!();
        };
        assert_eq!((needed.columns.as_str(), needed.key.as_str()), ("id", "1"));
        assert!(needed.is_parent_changed);
        // Whoever commits without a check is checked then.
        let mut tx = store.begin(IsolationLevel::Serializable);
        tx.insert(&child, &ints(&[Some(3), Some(7)])).unwrap();
        assert_eq!(kind(tx.commit()), ErrorKind::ForeignKeyViolation);
        assert_eq!(rows(&store, &child), [(1, Some(1)), (2, Some(2))]);
    }
}

#[test]
fn actions_follow_deletes_and_updates() {
    use ForeignKeyAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};
    let expected = [
        (Cascade, Some((vec![(2, Some(2))], vec![(1, Some(9)), (2, Some(2))]))),
        (SetNull, Some((vec![(1, None), (2, Some(2))], vec![(1, None), (2, Some(2))]))),
        // Without a default it is null.
        (SetDefault, Some((vec![(1, None), (2, Some(2))], vec![(1, None), (2, Some(2))]))),
        (NoAction, None),
        (Restrict, None),
    ];
    for (action, after) in expected {
        for (store, parent, child) in bases(action) {
            let mut tx = store.begin(IsolationLevel::Serializable);
            let deleted = delete(&mut tx, &parent, 1);
            match &after {
                Some((after, _)) => {
                    deleted.unwrap();
                    tx.commit().unwrap();
                    assert_eq!(rows(&store, &child), *after, "{action}");
                }
                None => assert_eq!(kind(deleted), ErrorKind::ForeignKeyViolation),
            }
        }
        for (store, parent, child) in bases(action) {
            let mut tx = store.begin(IsolationLevel::Serializable);
            let row = find(&mut tx, &parent, 1);
            let row = tx.update(&parent, row, &[(1, ValueRef::Int(5))]).unwrap();
            tx.check_constraints().unwrap();
            tx.update(&parent, row, &[(0, ValueRef::Int(9))]).unwrap();
            let updated = tx.check_constraints();
            match &after {
                Some((_, after)) => {
                    updated.unwrap();
                    tx.commit().unwrap();
                    assert_eq!(rows(&store, &child), *after, "{action}");
                }
                None => assert_eq!(kind(updated), ErrorKind::ForeignKeyViolation),
            }
            check(&store, &parent, &child);
        }
    }
}

#[test]
fn only_no_action_is_content_with_another_row_of_the_key() {
    use ForeignKeyAction::{NoAction, Restrict};
    for action in [NoAction, Restrict] {
        for (store, parent, child) in bases(action) {
            let mut tx = store.begin(IsolationLevel::RepeatableRead);
            let row = find(&mut tx, &parent, 1);
            tx.delete(&parent, row).unwrap();
            tx.insert(&parent, &ints(&[Some(1), Some(8)])).unwrap();
            assert_eq!(tx.check_constraints().is_ok(), action == NoAction);
            check(&store, &parent, &child);
        }
    }
}

#[test]
fn savepoints_bring_back_what_was_to_be_checked() {
    let (store, parent, child) = volatile(ForeignKeyAction::NoAction);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    tx.insert(&child, &ints(&[Some(1), Some(1)])).unwrap();
    let savepoint = tx.savepoint();
    tx.insert(&parent, &ints(&[Some(1), Some(1)])).unwrap();
    tx.check_constraints().unwrap();
    tx.rollback_to(savepoint);
    assert_eq!(kind(tx.commit()), ErrorKind::ForeignKeyViolation);
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    let savepoint = tx.savepoint();
    assert!(insert(&mut tx, &child, 1, Some(1)).is_err());
    tx.rollback_to(savepoint);
    tx.commit().unwrap();
    assert_eq!(rows(&store, &child), []);
}

#[test]
fn child_and_delete_of_its_parent_do_not_both_commit() {
    for level in LEVELS {
        // Who writes first, and whether that one has committed when the other one writes.
        for (is_child_first, commits) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            for action in [ForeignKeyAction::NoAction, ForeignKeyAction::Cascade] {
                for (store, parent, child) in bases(action) {
                    let mut tx = store.begin(level);
                    delete(&mut tx, &child, 2).unwrap();
                    tx.commit().unwrap();
                    let (mut one, mut two) = (store.begin(level), store.begin(level));
                    let (first, second) = match is_child_first {
                        true => (insert(&mut one, &child, 3, Some(2)).map(|_| ()), {
                            if commits {
                                one.commit().unwrap();
                                one = store.begin(level);
                            }
                            delete(&mut two, &parent, 2)
                        }),
                        false => (delete(&mut one, &parent, 2), {
                            if commits {
                                one.commit().unwrap();
                                one = store.begin(level);
                            }
                            insert(&mut two, &child, 3, Some(2)).map(|_| ())
                        }),
                    };
                    first.unwrap();
                    assert_eq!(kind(second), ErrorKind::SerializationConflict, "{level} {action}");
                    two.rollback();
                    one.commit().unwrap();
                    check(&store, &parent, &child);
                    // Tried again it is known for good.
                    let mut tx = store.begin(level);
                    let again = match is_child_first {
                        true => delete(&mut tx, &parent, 2),
                        false => insert(&mut tx, &child, 4, Some(2)).map(|_| ()),
                    };
                    match (is_child_first, action) {
                        (true, ForeignKeyAction::Cascade) => again.unwrap(),
                        _ => assert_eq!(kind(again), ErrorKind::ForeignKeyViolation),
                    }
                    tx.commit().ok();
                    check(&store, &parent, &child);
                }
            }
        }
    }
}

#[test]
fn random_clients_leave_no_orphans() {
    use ForeignKeyAction::{Cascade, NoAction, SetNull};
    let rounds = if std::env::var_os("NACRE_TEST_FULL").is_some() { 20_000 } else { 250 };
    for (seed, action) in (1..).zip([NoAction, Cascade, SetNull]) {
        let (store, parent, child) = volatile(action);
        thread::scope(|scope| {
            for client in 0..3_u64 {
                let (store, parent, child) = (&store, &parent, &child);
                scope.spawn(move || {
                    let mut state = (seed * 7 + client).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let mut draw = move |below: u64| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        (state % below) as i64
                    };
                    for round in 0..rounds {
                        let level = LEVELS[draw(3) as usize];
                        let id = (client * 1_000_000 + round) as i64;
                        if draw(40) == 0 {
                            // It fails if somebody else is at one of these keys.
                            let rows = [(id, Some(draw(6))), (-id - 1, None)];
                            let _ = load(store, child, &rows);
                            continue;
                        }
                        let mut tx = store.begin(level);
                        let mut run = || -> Result<(), Error> {
                            for _ in 0..=draw(2) {
                                let key = draw(6);
                                let mut found = None;
                                let index = parent.indexes()[0].clone();
                                tx.lookup(parent, &index, &[ValueRef::Int(key)], &[], |row, _| {
                                    found = Some(row);
                                })?;
                                match (draw(4), found) {
                                    (0, Some(row)) => tx.delete(parent, row)?,
                                    (1, Some(row)) => {
                                        let other = ValueRef::Int(draw(6));
                                        tx.update(parent, row, &[(0, other)])?;
                                    }
                                    (2, None) => {
                                        tx.insert(parent, &ints(&[Some(key), Some(0)]))?;
                                    }
                                    _ => {
                                        let id = id * 4 + draw(4);
                                        tx.insert(child, &ints(&[Some(id), Some(key)]))?;
                                    }
                                }
                                tx.check_constraints()?;
                            }
                            Ok(())
                        };
                        if run().is_ok() {
                            let _ = tx.commit();
                        }
                    }
                });
            }
        });
        check(&store, &parent, &child);
        assert!(!rows(&store, &child).is_empty(), "seed {seed} did nothing");
    }
}

#[test]
fn loads_are_checked_and_deletes_see_them() {
    for frozen in [false, true] {
        let (store, parent, child) = volatile(ForeignKeyAction::NoAction);
        match frozen {
            true => drop(load(&store, &parent, &[(1, Some(1)), (2, Some(2))]).unwrap()),
            false => {
                let mut tx = store.begin(IsolationLevel::RepeatableRead);
                insert(&mut tx, &parent, 1, Some(1)).unwrap();
                insert(&mut tx, &parent, 2, Some(2)).unwrap();
                tx.commit().unwrap();
            }
        }
        let missing = [(1, Some(1)), (2, None), (3, Some(3))];
        let Error::ForeignKeyViolation(violation) = load(&store, &child, &missing).unwrap_err()
        else {
            panic!();
        };
        assert_eq!(violation.key, "3");
        load(&store, &child, &missing[..2]).unwrap();
        let mut old = store.begin(IsolationLevel::RepeatableRead);
        // A delete that may come to nothing.
        let mut tx = store.begin(IsolationLevel::RepeatableRead);
        delete(&mut tx, &parent, 2).unwrap();
        assert_eq!(kind(load(&store, &child, &[(4, Some(2))])), ErrorKind::SerializationConflict);
        tx.rollback();
        load(&store, &child, &[(4, Some(2))]).unwrap();
        assert_eq!(kind(delete(&mut old, &parent, 2)), ErrorKind::SerializationConflict);
        old.rollback();
        let mut tx = store.begin(IsolationLevel::RepeatableRead);
        assert_eq!(kind(delete(&mut tx, &parent, 2)), ErrorKind::ForeignKeyViolation);
        check(&store, &parent, &child);
    }
}

#[test]
fn tables_and_keys_are_dropped_together_and_last() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let directory = Some(directory.path().to_path_buf());
        Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap()
    };
    {
        let store = open();
        let (parent, child) = tables(&store, ForeignKeyAction::Cascade, ForeignKeyAction::SetNull);
        let mut tx = store.begin(IsolationLevel::Serializable);
        for id in 1..=3 {
            insert(&mut tx, &parent, id, Some(0)).unwrap();
            insert(&mut tx, &child, id, Some(id)).unwrap();
        }
        tx.commit().unwrap();
    }
    {
        let store = open();
        let (parent, child) = (store.table("p").unwrap(), store.table("c").unwrap());
        let mut tx = store.begin(IsolationLevel::Serializable);
        assert_eq!(kind(insert(&mut tx, &child, 4, Some(4))), ErrorKind::ForeignKeyViolation);
        tx.rollback();
        let mut tx = store.begin(IsolationLevel::Serializable);
        delete(&mut tx, &parent, 1).unwrap();
        let row = find(&mut tx, &parent, 2);
        tx.update(&parent, row, &[(0, ValueRef::Int(7))]).unwrap();
        tx.commit().unwrap();
        assert_eq!(rows(&store, &child), [(2, None), (3, Some(3))]);
        let Error::DependentObjects { reasons, .. } = store.drop_table("p").unwrap_err() else {
            panic!();
        };
        assert_eq!(reasons, ["constraint c_p_fkey on table c depends on table p"]);
        assert_eq!(kind(store.drop_index(&child, "c_p_fkey")), ErrorKind::DependentObjects);
        store.drop_tables(&["p"], true).unwrap();
        assert_eq!(child.indexes().len(), 1);
    }
    let store = open();
    let child = store.table("c").unwrap();
    assert_eq!(child.indexes().len(), 1);
    let mut tx = store.begin(IsolationLevel::Serializable);
    insert(&mut tx, &child, 5, Some(99)).unwrap();
    tx.commit().unwrap();
    assert_eq!(rows(&store, &child), [(2, None), (3, Some(3)), (5, Some(99))]);
}

#[test]
fn what_is_no_key_is_refused_and_leaves_nothing() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let parent = store.create_table(schema("p", &[("id", false), ("v", false)])).unwrap();
    let unique = |name: &str| IndexDef {
        name: name.into(),
        columns: vec![1],
        is_unique: true,
        kind: IndexKind::Art,
        origin: IndexOrigin::Unique,
    };
    let key = |columns: &[usize], referenced: &[usize]| ForeignKeyDef {
        name: "f".into(),
        columns: columns.to_vec(),
        referenced: Some(parent.id()),
        referenced_columns: referenced.to_vec(),
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    };
    for broken in [key(&[1], &[1]), key(&[1], &[]), key(&[9], &[0]), key(&[0, 1], &[0, 0])] {
        let keys = TableKeys { unique: vec![unique("c_v_key")], foreign: vec![broken] };
        let child = schema("c", &[("id", false), ("v", true)]);
        let created = store.create_table_with(child, TableRules::default(), &keys);
        assert_eq!(kind(created), ErrorKind::InvalidDefinition);
        assert!(store.table("c").is_err());
        assert_eq!(store.indexes().len(), 1);
    }
    let keys = TableKeys { unique: vec![unique("p")], foreign: Vec::new() };
    let child = schema("c", &[("id", false), ("v", true)]);
    assert_eq!(
        kind(store.create_table_with(child, TableRules::default(), &keys)),
        ErrorKind::TableExists
    );
}

/// Gives 2 for all defaults and refuses odd values of `p`.
struct Even;

impl RowRules for Even {
    fn defaults(&mut self, _: &Arc<Table>, columns: &[usize]) -> Result<Vec<Value>, Error> {
        Ok(vec![Value::Int(2); columns.len()])
    }

    fn check(&mut self, _: &Arc<Table>, values: &[Value]) -> Result<(), Error> {
        match values {
            [_, Value::Int(p)] if p % 2 == 1 => Err(Error::RowRefused(Box::new(RowRefused {
                reason: "odd".into(),
                loaded_at: None,
            }))),
            _ => Ok(()),
        }
    }
}

#[test]
fn rows_that_actions_change_meet_the_rules_or_nothing_is_changed() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let parent = store.create_table(schema("p", &[("id", false), ("v", false)])).unwrap();
    let key = ForeignKeyDef {
        name: "c_p_fkey".into(),
        columns: vec![1],
        referenced: Some(parent.id()),
        referenced_columns: vec![0],
        on_delete: ForeignKeyAction::SetDefault,
        on_update: ForeignKeyAction::Cascade,
    };
    let keys = TableKeys { unique: Vec::new(), foreign: vec![key] };
    let default = ColumnDefault { text: "2".into(), identity: None, sequence: None };
    let rules = TableRules {
        defaults: [(1, default)].into(),
        checks: vec![CheckRule { name: "even".into(), text: "p % 2 = 0".into() }],
    };
    let child = schema("c", &[("id", false), ("p", true)]);
    let child = store.create_table_with(child, rules, &keys).unwrap();
    let mut tx = store.begin(IsolationLevel::Serializable);
    for id in [2, 4, 6] {
        insert(&mut tx, &parent, id, Some(0)).unwrap();
        insert(&mut tx, &child, id, Some(id)).unwrap();
    }
    tx.commit().unwrap();
    let change = |id: i64, new: Option<i64>, rules: Option<&mut dyn RowRules>| {
        let mut tx = store.begin(IsolationLevel::Serializable);
        let row = find(&mut tx, &parent, id);
        match new {
            Some(new) => drop(tx.update(&parent, row, &[(0, ValueRef::Int(new))]).unwrap()),
            None => tx.delete(&parent, row).unwrap(),
        }
        match rules {
            Some(rules) => tx.check_constraints_by(rules)?,
            None => tx.check_constraints()?,
        }
        tx.commit().map(drop)
    };
    let before = rows(&store, &child);
    // Nobody evaluates the rules: not even at commit.
    assert_eq!(kind(change(4, None, None)), ErrorKind::NotSupported);
    assert_eq!(kind(change(4, Some(8), None)), ErrorKind::NotSupported);
    assert_eq!(kind(change(4, Some(5), Some(&mut Even))), ErrorKind::RowRefused);
    assert_eq!(rows(&store, &child), before);
    change(4, Some(8), Some(&mut Even)).unwrap();
    change(6, None, Some(&mut Even)).unwrap();
    assert_eq!(rows(&store, &child), [(2, Some(2)), (4, Some(8)), (6, Some(2))]);
    check(&store, &parent, &child);
}

/// Writes a table anew with the rows that it has.
fn rewrite(store: &Store, table: &Arc<Table>) -> Arc<Table> {
    let schema = TableSchema::clone(&table.schema());
    let mut indexes: Vec<IndexDef> =
        table.indexes().iter().map(|index| index.definition().clone()).collect();
    indexes.retain(|index| index.origin != IndexOrigin::PrimaryKey);
    let places = (0..schema.columns.len()).map(Some).collect();
    let keys = store.foreign_keys_of(table);
    let rewrite = store
        .begin_rewrite(table, schema, TableRules::default(), (indexes, &keys), places)
        .unwrap();
    let mut buffers = [ColumnType::BigInt; 2].map(ColumnBuffer::new);
    for (id, other) in rows(store, table) {
        for (value, buffer) in ints(&[Some(id), other]).iter().zip(&mut buffers) {
            value.push_to(buffer);
        }
    }
    let load = rewrite.begin_load().unwrap();
    load.append_chunk(0, &buffers).unwrap();
    load.commit().unwrap();
    rewrite.publish().unwrap();
    store.table(&table.schema().name).unwrap()
}

/// A child row was refused although its parent was there, and the delete of a parent did not look
/// at the child, if the other table was written anew between the write and its check.
#[test]
fn table_that_is_written_anew_between_a_write_and_its_check_is_a_conflict() {
    for level in LEVELS {
        let (store, parent, child) = volatile(ForeignKeyAction::NoAction);
        let mut tx = store.begin(IsolationLevel::RepeatableRead);
        insert(&mut tx, &parent, 1, Some(1)).unwrap();
        insert(&mut tx, &parent, 2, Some(1)).unwrap();
        insert(&mut tx, &child, 1, Some(1)).unwrap();
        tx.commit().unwrap();
        let mut tx = store.begin(level);
        tx.insert(&child, &ints(&[Some(2), Some(2)])).unwrap();
        let parent = rewrite(&store, &parent);
        assert!(matches!(tx.check_constraints(), Err(Error::DefinitionChanged { .. })), "{level}");
        tx.rollback();
        let mut tx = store.begin(level);
        let row = find(&mut tx, &parent, 2);
        tx.delete(&parent, row).unwrap();
        let child = rewrite(&store, &child);
        assert!(matches!(tx.check_constraints(), Err(Error::DefinitionChanged { .. })), "{level}");
        tx.rollback();
        check(&store, &parent, &child);
        let mut tx = store.begin(level);
        assert_eq!(kind(delete(&mut tx, &parent, 1)), ErrorKind::ForeignKeyViolation);
        tx.rollback();
        let mut tx = store.begin(level);
        insert(&mut tx, &child, 2, Some(2)).unwrap();
        tx.commit().unwrap();
        assert_eq!(rows(&store, &child), [(1, Some(1)), (2, Some(2))]);
    }
}
