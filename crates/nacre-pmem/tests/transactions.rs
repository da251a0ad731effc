//! Transactions through the public interface, against a plain model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nacre_pmem::{Access, Domain, Error, ErrorKind, PoolSet, PoolSetOptions};
use proptest::prelude::*;
use tempfile::TempDir;

const DATA_BYTES: u64 = 16 << 10;

struct Fixture {
    directory: TempDir,
    domain: Domain,
}

impl Fixture {
    fn new() -> (Fixture, PoolSet) {
        let directory = support::shm_directory().unwrap_or_else(|| tempfile::tempdir().unwrap());
        let domain = Domain::create("transactions", directory.path()).unwrap();
        let options = PoolSetOptions { log_bytes: 16 << 10, ..PoolSetOptions::new(DATA_BYTES) };
        let set = PoolSet::create("set", &[domain.clone(), domain.clone()], &options).unwrap();
        (Fixture { directory, domain }, set)
    }

    fn open(&self, access: Access) -> Result<PoolSet, Error> {
        PoolSet::open("set", &[self.domain.clone(), self.domain.clone()], access)
    }
}

fn data(set: &PoolSet) -> Vec<u8> {
    set.read(set.data_offset(), DATA_BYTES).unwrap().to_vec()
}

fn members_are_equal(set: &PoolSet) -> bool {
    let (start, bytes) = (set.data_offset(), DATA_BYTES);
    set.read_member(0, start, bytes).unwrap() == set.read_member(1, start, bytes).unwrap()
}

#[test]
fn transaction_sees_its_own_writes_and_others_see_none_before_the_commit() {
    let (_fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    set.transaction(|tx| {
        tx.write(start, b"new")?;
        assert_eq!(tx.set().read(start, 3)?, [0; 3]);
        assert_eq!(tx.read(start + 1, 4)?, b"ew\0\0");
        tx.write(start + 1, b"ot")?;
        assert_eq!(tx.read(start, 3)?, b"not");
        tx.write(start + 8, &7u64.to_le_bytes())?;
        assert_eq!(tx.load_u64(start + 8)?, 7);
        Ok(())
    })
    .unwrap();
    assert_eq!(set.read(start, 3).unwrap(), b"not");
}

#[test]
fn panic_in_the_body_rolls_back() {
    let (_fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    set.update(start, b"before").unwrap();
    let before = data(&set);
    for has_applied in [false, true] {
        let result = catch_unwind(AssertUnwindSafe(|| {
            set.transaction(|tx| {
                tx.write(start, b"within")?;
                if has_applied {
                    tx.read(start, 6)?;
                    tx.write(start + 2, b"xx")?;
                }
                std::panic::resume_unwind(Box::new("the body panics"));
                #[allow(unreachable_code)]
                Ok(())
            })
        }));
        assert!(result.is_err());
        assert_eq!(data(&set), before);
        assert!(members_are_equal(&set));
    }
    set.transaction(|tx| tx.write(start, b"after")).unwrap();
    assert_eq!(set.read(start, 5).unwrap(), b"after");
}

#[test]
fn too_large_transaction_changes_nothing_even_if_the_body_goes_on() {
    let (_fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    // A slot is 8 KiB: header, entry and 8 KiB of new bytes do not fit, 8 KiB - 40 do.
    set.transaction(|tx| tx.write(start, &[1; 8192 - 40])).unwrap();
    let before = data(&set);
    for goes_on in [false, true] {
        for reads in [false, true] {
            let result = set.transaction(|tx| {
                tx.write(start, &[2; 4096])?;
                if reads {
                    tx.read(start, 1)?;
                }
                match tx.write(start + 4096, &[2; 8000]) {
                    Err(_) if goes_on => Ok(()),
                    result => result,
                }
            });
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TransactionTooLarge, "{error}");
            assert_eq!(data(&set), before);
        }
    }
}

#[test]
fn writes_outside_of_the_data_area_are_refused() {
    let (_fixture, mut set) = Fixture::new();
    let (start, end) = (set.data_offset(), set.end_offset());
    for offset in [0, start - 1, end - 3, u64::MAX - 1] {
        let error = set.transaction(|tx| tx.write(offset, b"four")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{offset}");
        let error = set.transaction(|tx| tx.write_new(offset, b"four")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{offset}");
        assert_eq!(set.update(offset, b"four").unwrap_err().kind(), ErrorKind::OutOfRange);
    }
}

#[test]
fn set_without_log_or_opened_read_only_refuses_transactions() {
    let (fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    set.update(start, b"data").unwrap();
    drop(set);
    let mut set = fixture.open(Access::ReadOnly).unwrap();
    let error = set.transaction(|tx| tx.write(start, b"x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    let options = PoolSetOptions { log_bytes: 0, ..PoolSetOptions::new(DATA_BYTES) };
    let mut set = PoolSet::create("plain", &[Domain::dram("volatile")], &options).unwrap();
    let start = set.data_offset();
    let error = set.transaction(|tx| tx.write(start, b"x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionTooLarge);
    set.update(start, b"x").unwrap();
}

#[test]
fn committed_ids_tell_what_took_effect() {
    let (_fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    let (mut committed, mut failed) = (0, 0);
    set.transaction(|tx| {
        committed = tx.id();
        tx.write(start, b"x")
    })
    .unwrap();
    assert_eq!(set.last_committed_id(), committed);
    set.transaction(|tx| {
        failed = tx.id();
        tx.write(u64::MAX, b"x")
    })
    .unwrap_err();
    assert!(failed > committed);
    assert_eq!(set.last_committed_id(), committed);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Read(u64, u64),
}

#[derive(Clone, Debug)]
enum Deed {
    Transaction { steps: Vec<Step>, gives_up: bool },
    Update(u64, Vec<u8>),
    Reopen { is_crash: bool },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let range = prop_oneof![4 => (0..400u64, 1..20usize), 1 => (0..8000u64, 1..400usize)];
    let write = (range, any::<u8>()).prop_map(|((at, bytes), seed)| {
        (at, (0..bytes).map(|index| seed.wrapping_add(index as u8)).collect::<Vec<_>>())
    });
    let step = prop_oneof![
        4 => write.clone().prop_map(|(at, bytes)| Step::Write(at, bytes)),
        1 => (0..400u64, 1..100u64).prop_map(|(at, bytes)| Step::Read(at, bytes)),
    ];
    let transaction = (proptest::collection::vec(step, 0..10), prop::bool::weighted(0.3))
        .prop_map(|(steps, gives_up)| Deed::Transaction { steps, gives_up });
    let deed = prop_oneof![
        6 => transaction,
        2 => write.prop_map(|(at, bytes)| Deed::Update(at, bytes)),
        1 => any::<bool>().prop_map(|is_crash| Deed::Reopen { is_crash }),
    ];
    proptest::collection::vec(deed, 1..40)
}

fn put(model: &mut [u8], at: u64, bytes: &[u8]) {
    model[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

fn perform(set: &mut PoolSet, model: &mut Vec<u8>, steps: &[Step], gives_up: bool) {
    let start = set.data_offset();
    let mut next = model.clone();
    let result = set.transaction(|tx| {
        for step in steps {
            match step {
                Step::Write(at, bytes) => {
                    tx.write(start + at, bytes)?;
                    put(&mut next, *at, bytes);
                }
                Step::Read(at, bytes) => {
                    let expected = &next[*at as usize..(at + bytes) as usize];
                    assert_eq!(tx.read(start + at, *bytes)?, expected);
                }
            }
        }
        if gives_up { Err(tx.set().read(u64::MAX, 1).unwrap_err()) } else { Ok(()) }
    });
    assert_eq!(result.is_err(), gives_up, "{result:?}");
    if !gives_up {
        *model = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn transactions_agree_with_a_model_through_aborts_and_reopening(deeds in deeds()) {
        let (fixture, mut set) = Fixture::new();
        let mut model = data(&set);
        for deed in &deeds {
            match deed {
                Deed::Transaction { steps, gives_up } => {
                    perform(&mut set, &mut model, steps, *gives_up);
                }
                Deed::Update(at, bytes) => {
                    set.update(set.data_offset() + at, bytes).unwrap();
                    put(&mut model, *at, bytes);
                }
                Deed::Reopen { is_crash } => {
                    if *is_crash { set.abandon() } else { set.close().unwrap() }
                    set = fixture.open(Access::ReadWrite).unwrap();
                }
            }
            prop_assert!(data(&set) == model && members_are_equal(&set));
        }
    }
}

/// Cuts the files of some members in front of the data area.
fn cut(fixture: &Fixture, set: &PoolSet, members: &[u32]) {
    for index in members {
        let path = fixture.directory.path().join(format!("set.{index}"));
        File::options().write(true).open(path).unwrap().set_len(set.data_offset()).unwrap();
    }
}

fn serving(set: &PoolSet) -> u32 {
    set.member_states().iter().find(|member| member.is_serving).unwrap().index
}

fn holding(value: u64) -> (Fixture, PoolSet) {
    let (fixture, mut set) = Fixture::new();
    set.update(set.data_offset(), &value.to_le_bytes()).unwrap();
    set.close().unwrap();
    let set = fixture.open(Access::ReadWrite).unwrap();
    (fixture, set)
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

#[test]
fn first_read_after_a_page_loss_is_of_a_good_member() {
    for way in 0..5 {
        let (fixture, set) = holding(41);
        let at = set.data_offset();
        cut(&fixture, &set, &[serving(&set)]);
        let value = match way {
            0 => set.load_u64(at).unwrap(),
            1 => word(set.read(at, 8).unwrap()),
            2 => word(set.read(at, DATA_BYTES).unwrap()),
            // It starts on the page before, which is there.
            3 => word(&set.read(at - 8, 16).unwrap()[8..]),
            _ => set.read_with(at, 8, word).unwrap(),
        };
        assert_eq!(value, 41, "{way}");
        assert_eq!(set.read(at + 4096, 4096).unwrap(), [0; 4096]);
        assert_eq!(set.check().unwrap_err().kind(), ErrorKind::Lost);
    }
}

#[test]
fn counter_goes_on_from_the_good_member_after_a_page_loss() {
    for by_word in [true, false] {
        let (fixture, mut set) = holding(41);
        let at = set.data_offset();
        let gone = serving(&set);
        cut(&fixture, &set, &[gone]);
        let count = |set: &mut PoolSet| {
            set.transaction(|tx| {
                let value = if by_word { tx.load_u64(at)? } else { word(tx.read(at, 8)?) };
                tx.write(at, &(value + 1).to_le_bytes())
            })
        };
        count(&mut set).unwrap();
        assert_eq!(set.load_u64(at).unwrap(), 42);
        assert_eq!(word(set.read_member(1 - gone, at, 8).unwrap()), 42);
        count(&mut set).unwrap();
        set.close().unwrap();
        let set = fixture.open(Access::ReadWrite).unwrap();
        assert_eq!(set.load_u64(at).unwrap(), 43);
    }
}

#[test]
fn page_lost_after_it_was_read_refuses_the_commit() {
    for by_set in [true, false] {
        let (fixture, mut set) = holding(41);
        let at = set.data_offset();
        let path = fixture.directory.path().join(format!("set.{}", serving(&set)));
        let mut tries = 0;
        let mut count = |set: &mut PoolSet| {
            set.transaction(|tx| {
                tries += 1;
                let slice = if by_set { tx.set().read(at, 8)? } else { tx.read(at, 8)? };
                if tries == 1 {
                    File::options().write(true).open(&path).unwrap().set_len(at).unwrap();
                }
                let value = word(slice);
                assert_eq!(value, if tries == 1 { 0 } else { 41 });
                tx.write(at, &(value + 1).to_le_bytes())?;
                tx.write(at + 64, b"beside")
            })
        };
        let error = count(&mut set).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert!(error.remedy().contains("repeat the transaction"), "{error}");
        assert_eq!(set.load_u64(at).unwrap(), 41);
        count(&mut set).unwrap();
        set.close().unwrap();
        let set = fixture.open(Access::ReadWrite).unwrap();
        assert_eq!(set.load_u64(at).unwrap(), 42);
        assert_eq!(set.read(at + 64, 6).unwrap(), b"beside");
    }
}

#[test]
fn range_that_every_member_lost_is_an_error() {
    let (fixture, mut set) = holding(41);
    let at = set.data_offset();
    cut(&fixture, &set, &[0, 1]);
    for _ in 0..2 {
        assert_eq!(set.load_u64(at).unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(set.read(at, 8).unwrap_err().kind(), ErrorKind::Lost);
        let error = set.transaction(|tx| tx.read(at, 8).map(word)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
    }
}

/// Offsets near the largest number overflowed when they were compared with what a live record
/// wrote, before anybody had looked whether they lie inside.
#[test]
fn ranges_far_outside_are_refused_also_behind_a_transaction() {
    let (_fixture, mut set) = Fixture::new();
    let start = set.data_offset();
    for offset in [u64::MAX, u64::MAX - 7, u64::MAX - 8, u64::MAX / 2] {
        let commit = |set: &mut PoolSet| {
            set.transaction(|tx| {
                tx.write(start, b"live")?;
                tx.write(start + 64, b"live")
            })
            .unwrap();
        };
        let refused = |result: Result<(), Error>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfRange, "{offset}");
        };
        commit(&mut set);
        refused(set.update(offset, &[1; 16]));
        refused(set.write(offset, &[1; 16]));
        refused(set.write_near(offset, &[1; 16]));
        refused(set.update_near(offset, &[1; 16]));
        refused(set.update_batch(&[(start, b"live"), (offset, &[1; 16])]));
        commit(&mut set);
        refused(set.replace(offset, &[1; 16]));
        refused(set.replace(offset & !7, &[1; 8]));
        refused(set.publish_u64(offset & !7, 1));
        refused(set.transaction(|tx| {
            tx.write(start, b"mine")?;
            assert_eq!(tx.read(start, offset).unwrap_err().kind(), ErrorKind::OutOfRange);
            assert_eq!(tx.read(offset, 8).unwrap_err().kind(), ErrorKind::OutOfRange);
            tx.write(offset, &[1; 16])
        }));
        assert_eq!(set.read(start, 4).unwrap(), b"live");
    }
}
