"""A session of psycopg 3: parameters in text and binary, pipelines, COPY, cursors, errors."""

import datetime
import decimal
import uuid

import psycopg
from psycopg import errors

with psycopg.connect("", autocommit=True) as connection:
    connection.execute("drop table if exists person")
    connection.execute(
        "create table person (id integer primary key, name text, born date, seen timestamp,"
        " score double precision, balance numeric(12, 2), is_member boolean, photo bytea)"
    )
    row = (
        1,
        "Zo\u00eb",
        datetime.date(1990, 5, 17),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 678900),
        0.25,
        decimal.Decimal("-12345.67"),
        True,
        b"\x00\xff",
    )
    connection.execute("insert into person values (%s, %s, %s, %s, %s, %s, %s, %s)", row)
    connection.execute("insert into person (id) values (%b)", (2,))
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        cursor.execute("select * from person where id = %s", (1,))
        assert cursor.fetchone() == row, binary
        cursor.execute("select * from person where id = 2")
        assert cursor.fetchone() == (2,) + (None,) * 7
    for ids, expected in (([1, 2], 2), ([1], 1), ([], 0), ([2, 70000, 3000000000], 1)):
        for form in ("%s", "%b"):
            found = connection.execute(f"select count(*) from person where id = any({form})", (ids,))
            assert found.fetchone() == (expected,), (ids, form)
    found = connection.execute("select id from person where name = any(%s)", (["Zo\u00eb", 'a"b,c'],))
    assert found.fetchall() == [(1,)]
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        for value in (
            decimal.Decimal("1.50"),
            datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
            datetime.timedelta(days=-2, hours=3),
            datetime.time(3, 4, 5),
            uuid.UUID("12345678-1234-5678-1234-567812345678"),
            [1, None, 3],
            [1.5, 2.5],
        ):
            for form in ("%s", "%b"):
                got = cursor.execute(f"select {form}", (value,)).fetchone()[0]
                assert got == value and str(got) == str(value), (value, got, form, binary)
        assert cursor.execute("select %s::text[]", (["a", "b c"],)).fetchone() == (["a", "b c"],)
        cursor.execute("select version(), count(*), sum(id), max(name)::varchar, 1 + 1, 2 + 2, '1'::int from person")
        names = [column.name for column in cursor.description]
        assert names == ["version", "count", "sum", "max", "?column?", "?column?", "int4"], names
        assert cursor.fetchone()[4:] == (2, 4, 1)
        assert cursor.execute("select json_build_object('a', 1)").fetchone() == ({"a": 1},)
    # A text that is not UTF-8 fails by itself.
    latin = psycopg.connect("", autocommit=True)
    latin.execute("select 1")
    try:
        latin.pgconn.exec_params(b"select $1", [b"\xe4\x20"])
        answer = latin.pgconn.exec_(b"select '\xff'")
        assert answer.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"22021"
        assert b"0xff" in answer.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY)
        answer = latin.pgconn.exec_params(b"select $1", [b"\xe4\x20"])
        assert answer.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"22021"
        assert latin.execute("select 2").fetchone() == (2,)
    finally:
        latin.close()
    try:
        with connection.cursor().copy("copy person (id, name) from stdin") as copy:
            copy.write("10\tten\nx\ty\n")
        raise AssertionError("x is a number")
    except errors.InvalidTextRepresentation as error:
        assert error.diag.context == 'COPY person, line 2, column id: "x"', error.diag.context
    # The same statement often enough to be prepared.
    for _ in range(20):
        assert connection.execute("select name from person where id = %s", (1,)).fetchone() == ("Zo\u00eb",)

with psycopg.connect("") as connection:
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into person (id, name) values (%s, %s)",
            [(number, f"person {number}") for number in range(10, 110)],
        )
        with cursor.copy("copy person (id, name) from stdin") as copy:
            for number in range(200, 300):
                copy.write_row((number, None if number % 2 else "even"))
        with cursor.copy("copy (select id, name from person where id >= 200 order by id) to stdout") as copy:
            copy.set_types(["int4", "text"])
            rows = list(copy.rows())
        assert len(rows) == 100 and rows[0] == (200, "even") and rows[1] == (201, None)
    connection.commit()
    with connection.pipeline():
        cursors = [
            connection.execute("select count(*) from person where id >= %s", (least,))
            for least in (0, 10, 200)
        ]
        assert [cursor.fetchone() for cursor in cursors] == [(202,), (200,), (100,)]
    with connection.cursor(name="page") as cursor:
        cursor.itersize = 7
        cursor.execute("select id from person order by id")
        assert sum(1 for _ in cursor) == 202
    connection.rollback()
    try:
        connection.execute("insert into person (id) values (1)")
        raise AssertionError("a key was there twice")
    except errors.UniqueViolation as error:
        assert error.diag.message_detail == "Key (id)=(1) already exists.", error.diag.message_detail
    try:
        connection.execute("select 1")
        raise AssertionError("a failed block went on")
    except errors.InFailedSqlTransaction:
        connection.rollback()
    with connection.transaction():
        connection.execute("delete from person where id >= 100")
        try:
            with connection.transaction():
                connection.execute("delete from person")
                raise psycopg.Rollback()
        except psycopg.Rollback:
            pass
    assert connection.execute("select count(*) from person").fetchone() == (92,)
    connection.execute("drop table person")
    connection.commit()
