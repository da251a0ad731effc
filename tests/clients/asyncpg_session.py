"""A session of asyncpg, which speaks binary only."""

import asyncio
import datetime
import decimal
import os
import uuid

import asyncpg


moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=datetime.timezone.utc)
passed = datetime.timedelta(days=2, hours=3, microseconds=4)
unique = uuid.UUID("12345678-1234-5678-1234-567812345678")


async def main():
    connection = await asyncpg.connect(ssl=False, host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]))
    await connection.execute("drop table if exists ship")
    await connection.execute(
        "create table ship (id bigint primary key, name varchar(20), built date, seen timestamp,"
        " tons real, price numeric(12, 2), is_afloat boolean, log bytea)"
    )
    rows = [
        (
            number,
            f"ship {number}",
            datetime.date(1900 + number, 1, 1),
            datetime.datetime(2026, 1, 1, 0, 0, number),
            number / 2,
            decimal.Decimal(number) / 4,
            number % 2 == 0,
            bytes([number]),
        )
        for number in range(50)
    ]
    await connection.executemany("insert into ship values ($1, $2, $3, $4, $5, $6, $7, $8)", rows)
    row = await connection.fetchrow("select * from ship where id = $1", 7)
    assert tuple(row) == rows[7], row
    assert await connection.fetchval("select count(*) from ship where name like $1", "ship 1%") == 11
    async with connection.transaction(isolation="serializable"):
        seen = [record["id"] async for record in connection.cursor("select id from ship order by id")]
        assert seen == list(range(50))
    try:
        async with connection.transaction():
            await connection.execute("delete from ship")
            await connection.execute("select 1 / 0")
    except asyncpg.DivisionByZeroError:
        pass
    assert await connection.fetchval("select count(*) from ship") == 50
    listed = await connection.fetch("select id from ship where id = any($1::int[]) order by id", [1, 2, 99])
    assert [record["id"] for record in listed] == [1, 2], listed
    listed = await connection.fetch("select id from ship where id = any($1) order by id", [3, 4])
    assert [record["id"] for record in listed] == [3, 4], listed
    assert await connection.fetchval("select count(*) from ship where name = any($1::text[])", ["ship 5", "no"]) == 1
    assert await connection.fetchval("select count(*) from ship where id <> all($1::bigint[])", [1, 2]) == 48
    assert await connection.fetchval("select array[1, 2, 3]") == [1, 2, 3]
    assert await connection.fetchval("select array['a', null, 'b c']") == ["a", None, "b c"]
    assert await connection.fetchval("select $1::int[]", [7, None]) == [7, None]
    assert await connection.fetchval("select $1::numeric", decimal.Decimal("1.50")) == decimal.Decimal("1.50")
    exact = await connection.fetchval("select $1::numeric", decimal.Decimal("1.50"))
    assert str(exact) == "1.50", exact
    assert await connection.fetchval("select $1::timestamptz", moment) == moment
    assert await connection.fetchval("select $1::oid", 7) == 7
    assert await connection.fetchval("select $1::interval", passed) == passed
    assert await connection.fetchval("select $1::uuid", unique) == unique
    assert await connection.fetchval("select $1::date", datetime.date(9999, 12, 30)) == datetime.date(9999, 12, 30)
    since = await connection.fetchval(
        "select now() - query_start from pg_stat_activity where pid = pg_backend_pid()"
    )
    assert isinstance(since, datetime.timedelta), since
    try:
        await connection.execute("select '\\x4'::bytea")
        raise AssertionError("half a byte was a byte")
    except asyncpg.PostgresError:
        pass
    assert list((await connection.fetchrow("select version(), count(*), 1 + 1 from ship")).keys()) == [
        "version",
        "count",
        "?column?",
    ]
    await connection.execute("drop table ship")
    await connection.close()


asyncio.run(asyncio.wait_for(main(), 60))
