//! What a domain says of itself.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use nacre_pmem::{Domain, DomainKind, FlushFlavour, Granularity, StreamFlavour};
use support::variants;

#[test]
fn every_domain_tells_what_it_is() {
    for variant in variants() {
        let domain = &variant.domain;
        let label = &variant.label;
        assert!(domain.flush_flavour().is_available(), "{label}");
        assert!(domain.stream_flavour().is_available(), "{label}");
        assert!(!domain.file_system().is_empty(), "{label}");
        assert_eq!(domain.path().is_none(), domain.kind() == DomainKind::Dram, "{label}");
        assert_eq!(domain.free_bytes().unwrap().is_none(), domain.path().is_none(), "{label}");
        let durability = domain.durability();
        assert!(durability.survives_process_crash >= durability.survives_power_cut, "{label}");
        if domain.kind() == DomainKind::Shm {
            assert!(durability.emulated && !durability.survives_power_cut, "{label}");
        }
        if domain.kind() != DomainKind::Pmem {
            assert!(!domain.advice().is_empty(), "{label}");
        }
    }
}

#[test]
fn page_granularity_asks_the_kernel_and_lines_use_instructions() {
    for variant in variants().iter().filter(|variant| variant.settings.flush.is_none()) {
        let domain = &variant.domain;
        match domain.granularity() {
            Granularity::Page => assert_eq!(domain.flush_flavour(), FlushFlavour::Msync),
            Granularity::CacheLine => assert_eq!(domain.flush_flavour(), FlushFlavour::best()),
            Granularity::Byte => assert_eq!(domain.flush_flavour(), FlushFlavour::None),
        }
    }
}

#[test]
fn dram_is_volatile_and_says_so() {
    let domain = Domain::dram("volatile");
    assert_eq!(domain.kind(), DomainKind::Dram);
    assert_eq!(domain.stream_flavour(), StreamFlavour::None);
    let durability = domain.durability();
    assert!(!durability.survives_process_crash && !durability.emulated);
    assert!(durability.to_string().contains("volatile"));
    assert_eq!(domain.to_owned().name(), "volatile");
}

#[test]
fn clones_are_the_same_domain() {
    let domain = Domain::dram("volatile");
    let clone = domain.clone();
    domain.create_pool("one", 8).unwrap();
    assert_eq!(clone.list_pools().unwrap(), ["one"]);
    assert!(Domain::dram("volatile").list_pools().unwrap().is_empty());
}
