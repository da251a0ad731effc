"""Runs the statements that come as JSON, one a line, and answers each with its seconds.

Arguments: the engine, the file of its database, its threads. The first answer is its version.
"""

import contextlib
import json
import os
import sys
import time

# Engines print progress of long statements; only answers may go where they are read.
answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def duckdb(file, threads, opened):
    import duckdb

    connection = opened.enter_context(duckdb.connect(file, config={"threads": threads}))
    return duckdb.__version__, lambda sql: connection.execute(sql).fetchall()


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
        else:
            with connection.execute_query(sql) as rows:
                list(rows)

    return api.__version__, run


name, file, threads = sys.argv[1:]
with contextlib.ExitStack() as opened:
    version, run = {"duckdb": duckdb, "hyper": hyper}[name](file, int(threads), opened)
    print(json.dumps({"version": version}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            begin = time.perf_counter()
            run(json.loads(line))
            answer = {"seconds": time.perf_counter() - begin}
        except Exception as error:
            answer = {"error": str(error).splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)
