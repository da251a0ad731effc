//! Bytes that no client should send. Each ends its own connection at most.

use std::time::Duration;

use nacre_server::ServerOptions;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Fixture, bind, field, kinds, message, query, startup, sync};

/// Whether a well-behaved session still works.
async fn is_well(fixture: &Fixture) -> bool {
    let client = fixture.client().await;
    client.query_one("select 1", &[]).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_messages_end_their_connection_with_an_error() {
    let fixture = Fixture::start().await;
    for bytes in [
        message(b'!', b""),
        vec![b'Q', 0, 0, 0, 3],
        vec![b'Q', 0xff, 0xff, 0xff, 0xff],
        vec![b'Q', 0x7f, 0xff, 0xff, 0xff],
        message(b'Q', b"select 1"),
        message(b'Q', b"select 1\0 and more"),
        message(b'B', b"\0\0\0\x01\0\0\0\xff"),
        message(b'P', b"\0select 1\0\xff\xff"),
        message(b'D', b"?\0"),
        message(b'E', b"\0"),
        message(b'p', b"secret\0"),
    ] {
        let mut raw = fixture.raw().await;
        raw.begin().await;
        raw.send(&bytes).await;
        assert_eq!(raw.end().await.as_deref(), Some("08P01"), "{bytes:?}");
    }
    assert!(is_well(&fixture).await);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_not_utf8_is_an_error_of_its_statement() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    raw.send(&message(b'Q', b"select '\xff'\0")).await;
    let answer = raw.until(b'Z').await;
    assert_eq!(kinds(&answer), "EZ");
    assert_eq!(field(&answer[0].1, b'C').as_deref(), Some("22021"));
    let expected = "invalid byte sequence for encoding \"UTF8\": 0xff";
    assert_eq!(field(&answer[0].1, b'M').as_deref(), Some(expected));
    // In the extended protocol the rest is passed over until Sync.
    raw.send(&[message(b'P', b"\0select '\xe4 '\0\0\0"), bind("", ""), sync()].concat()).await;
    let answer = raw.until(b'Z').await;
    assert_eq!(kinds(&answer), "EZ");
    // So in a parameter.
    let parse = message(b'P', b"\0select $1::text\0\0\0");
    let value = message(b'B', b"\0\0\0\0\0\x01\0\0\0\x02\xc3\x28\0\0");
    raw.send(&[parse, value, sync()].concat()).await;
    let answer = raw.until(b'Z').await;
    assert_eq!(kinds(&answer), "1EZ");
    let expected = "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28";
    assert_eq!(field(&answer[1].1, b'M').as_deref(), Some(expected));
    raw.send(&query("begin")).await;
    raw.until(b'Z').await;
    raw.send(&message(b'Q', b"\xff\0")).await;
    // The block failed.
    assert_eq!(raw.until(b'Z').await.last().unwrap().1, b"E");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    let options =
        ServerOptions { connections_max: 4, connections_reserved: 1, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let mut streams = Vec::new();
    for _ in 0..200 {
        streams.push(TcpStream::connect(fixture.address).await.unwrap());
    }
    for _ in 0..3 {
        assert!(is_well(&fixture).await);
    }
    drop(streams);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_openings_are_refused() {
    let fixture = Fixture::start().await;
    let nothing: &[(&str, &str)] = &[];
    for (bytes, code) in [
        (vec![0, 0, 0, 7, 0, 3, 0], "08P01"),
        (vec![0xff; 8], "08P01"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "08P01"),
        (startup(2 << 16, nothing), "0A000"),
        (startup(3 << 16, nothing), "28000"),
        (startup(3 << 16, &[("user", "nacre"), ("database", "other")]), "3D000"),
    ] {
        let mut raw = fixture.raw().await;
        raw.send(&bytes).await;
        assert_eq!(raw.end().await.as_deref(), Some(code), "{bytes:?}");
    }
    // A cancel request of nobody's is answered by nothing.
    let mut raw = fixture.raw().await;
    raw.send(b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01abcd").await;
    assert_eq!(raw.end().await, None);
    assert!(is_well(&fixture).await);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_minor_version_is_negotiated_down() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    let opening = startup((3 << 16) + 9_999, &[("user", "nacre"), ("_pq_.wish", "x")]);
    raw.send(&opening).await;
    let messages = raw.until(b'Z').await;
    assert_eq!(messages[0], (b'v', b"\0\x03\0\x02\0\0\0\x01_pq_.wish\0".to_vec()));
    let key = messages.iter().find(|(kind, _)| *kind == b'K').unwrap();
    assert_eq!(key.1.len(), 4 + 32);
    let mut raw = fixture.raw().await;
    raw.send(&startup((3 << 16) + 1, &[("user", "nacre")])).await;
    assert_eq!(raw.until(b'Z').await[0], (b'v', b"\0\x03\0\0\0\0\0\0".to_vec()));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn out_of_order_messages_do_no_harm() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    // What is left of a COPY, a Sync that nothing came before, a function call.
    raw.send(&[message(b'd', b"1\n"), message(b'c', b""), sync()].concat()).await;
    raw.until(b'Z').await;
    raw.send(&message(b'F', b"\0\0\0\x01\0\0\0\0\0\0")).await;
    raw.until(b'Z').await;
    raw.send(&query("select 1")).await;
    raw.until(b'Z').await;
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cut_of_a_session_leaves_the_server_well() {
    let fixture = Fixture::start().await;
    let session = [
        startup(3 << 16, &[("user", "nacre")]),
        query("create table if not exists t (a integer)"),
        message(b'P', b"s\0select $1::integer\0\0\x01\0\0\0\x17"),
        message(b'B', b"\0s\0\0\0\0\x01\0\0\0\x011\0\0"),
        message(b'E', b"\0\0\0\0\0"),
        sync(),
        query("copy t from stdin"),
        message(b'd', b"1\n"),
    ]
    .concat();
    for end in (0..session.len()).step_by(3) {
        let mut stream = TcpStream::connect(fixture.address).await.unwrap();
        stream.write_all(&session[..end]).await.unwrap();
    }
    assert!(is_well(&fixture).await);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_leave_the_server_well() {
    let fixture = Fixture::start().await;
    let mut state = 1_u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for round in 0..200 {
        let mut raw = fixture.raw().await;
        if round % 2 == 0 {
            raw.begin().await;
        }
        let mut bytes: Vec<u8> = (0..64).map(|_| random()).collect();
        if round % 4 == 0 {
            // A whole message of noise.
            bytes[0] = b"QPBDEC"[usize::from(bytes[0]) % 6];
            bytes[1..5].copy_from_slice(&63_u32.to_be_bytes());
        }
        // It may hang up before all is written.
        let _ = raw.0.write_all(&bytes).await;
    }
    assert!(is_well(&fixture).await);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_clients_are_sent_away() {
    let options =
        ServerOptions { startup_timeout: Duration::from_millis(100), ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let mut raw = fixture.raw().await;
    raw.send(b"\0\0").await;
    assert_eq!(raw.end().await.as_deref(), Some("57014"));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_attempts_leave_the_server_well() {
    let options = ServerOptions { connections_max: 10, ..ServerOptions::default() };
    let fixture = Fixture::start_with(options).await;
    let client = fixture.client().await;
    for _ in 0..20 {
        let mut streams = Vec::new();
        for _ in 0..500 {
            streams.push(TcpStream::connect(fixture.address).await.unwrap());
        }
        assert_eq!(client.query_one("select 1", &[]).await.unwrap().len(), 1);
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_behind_an_error_wait_for_sync() {
    let fixture = Fixture::start().await;
    let mut raw = fixture.raw().await;
    raw.begin().await;
    // Parse of nonsense, then a simple query, which PostgreSQL passes over too.
    raw.send(&message(b'P', b"\0nonsense\0\0\0")).await;
    raw.send(&query("select 1")).await;
    raw.send(&sync()).await;
    let kinds: Vec<u8> = raw.until(b'Z').await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, *b"EZ");
    raw.send(&query("select 1")).await;
    let kinds: Vec<u8> = raw.until(b'Z').await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, *b"TDCZ");
    fixture.stop().await;
}
