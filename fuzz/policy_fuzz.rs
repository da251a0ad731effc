//! Replica policies: what is read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nacre_column::ReplicaPolicy;

fuzz_target!(|text: &str| {
    if let Ok(policy) = text.parse::<ReplicaPolicy>() {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
});
