"""A session of asyncpg, which speaks binary only."""

import asyncio
import datetime
import decimal
import os

import asyncpg


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
    await connection.execute("drop table ship")
    await connection.close()


asyncio.run(asyncio.wait_for(main(), 60))
