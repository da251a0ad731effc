//! NVRAM-centric structures: column store and hybrid tree.
