//! The table of page views.
//!
//! # Source
//! ClickBench's `hits` for PostgreSQL. Names are written with underscores.

use crate::workload::ColumnKind::{BigInt, Date, Integer, SmallInt, Text, Timestamp};
use crate::workload::{Column, Table};

/// Page views; `csv_bytes` is for a million rows.
pub static HITS: Table = Table {
    name: "hits",
    columns: &[
        Column::new("watch_id", BigInt),
        Column::new("event_time", Timestamp),
        Column::new("event_date", Date),
        Column::new("counter_id", Integer),
        Column::new("client_ip", Integer),
        Column::new("region_id", Integer),
        Column::new("user_id", BigInt),
        Column::new("url", Text),
        Column::new("url_hash", BigInt),
        Column::new("title", Text),
        Column::new("referer", Text),
        Column::new("referer_hash", BigInt),
        Column::new("is_refresh", SmallInt),
        Column::new("is_link", SmallInt),
        Column::new("is_download", SmallInt),
        Column::new("dont_count_hits", SmallInt),
        Column::new("resolution_width", SmallInt),
        Column::new("resolution_height", SmallInt),
        Column::new("window_client_width", SmallInt),
        Column::new("window_client_height", SmallInt),
        Column::new("mobile_phone", SmallInt),
        Column::new("mobile_phone_model", Text),
        Column::new("os", SmallInt),
        Column::new("user_agent", SmallInt),
        Column::new("age", SmallInt),
        Column::new("sex", SmallInt),
        Column::new("traffic_source_id", SmallInt),
        Column::new("search_engine_id", SmallInt),
        Column::new("search_phrase", Text),
        Column::new("adv_engine_id", SmallInt),
    ],
    primary_key: &[],
    csv_bytes: 390_000_000,
};
