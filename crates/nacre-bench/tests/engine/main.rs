//! Integration tests of the whole engine on real data; one binary, because linking is slow.

mod crash_load;
mod tpch_oracle;
