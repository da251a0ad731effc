import sys
import time

import psycopg

place, table, form = sys.argv[1:]
with psycopg.connect(place) as connection:
    with connection.cursor(binary=form == "binary") as cursor:
        begin = time.perf_counter()
        cursor.execute(f"SELECT * FROM {table}")
        rows = cursor.fetchall()
        print(time.perf_counter() - begin)
        assert len(rows) == cursor.rowcount
