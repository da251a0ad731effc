"""Runs the statements that come as JSON, one a line, and answers each with its seconds.

Arguments: the engine, the file of its database, its threads. The first answer is its version. A
statement is {"sql": ..., "rows": whether its columns and rows are wanted}.
"""

import contextlib
import datetime
import decimal
import json
import os
import sys
import time


def duckdb(file, threads, opened):
    import duckdb

    config = {"threads": threads, "default_null_order": "postgres"}
    connection = opened.enter_context(duckdb.connect(file, config=config))

    def run(sql):
        cursor = connection.execute(sql)
        rows = cursor.fetchall()
        return [column[0] for column in cursor.description or []], rows

    return duckdb.__version__, run


def hyper(file, threads, opened):
    import tableauhyperapi as api

    parameters = {"log_config": "", "hard_concurrent_query_thread_limit": str(threads)}
    telemetry = api.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU
    process = opened.enter_context(api.HyperProcess(telemetry, parameters=parameters))
    mode = api.CreateMode.CREATE_IF_NOT_EXISTS
    connection = opened.enter_context(api.Connection(process.endpoint, file, mode))

    def run(sql):
        if sql.startswith(("CREATE", "COPY")):
            connection.execute_command(sql)
            return [], []
        with connection.execute_query(sql) as result:
            rows = list(result)
            return [column.name.unescaped for column in result.schema.columns], rows

    return api.__version__, run


def cell(value):
    for method in ("to_datetime", "to_date"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"number": str(value)}
    if isinstance(value, decimal.Decimal):
        return {"number": format(value, "f")}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, datetime.datetime):
        since = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        return {"timestamp": since // datetime.timedelta(microseconds=1)}
    if isinstance(value, datetime.date):
        return {"date": (value - datetime.date(1970, 1, 1)).days}
    return str(value)


# Standard output is for answers alone: DuckDB draws progress bars there.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
name, file, threads = sys.argv[1:]
with contextlib.ExitStack() as opened:
    version, run = {"duckdb": duckdb, "hyper": hyper}[name](file, int(threads), opened)
    print(json.dumps({"version": version}), file=answers, flush=True)
    for line in sys.stdin:
        statement = json.loads(line)
        try:
            begin = time.perf_counter()
            columns, rows = run(statement["sql"])
            answer = {"seconds": time.perf_counter() - begin}
            if statement["rows"]:
                answer["columns"] = columns
                answer["rows"] = [[cell(value) for value in row] for row in rows]
        except Exception as error:
            answer = {"error": str(error).splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)
