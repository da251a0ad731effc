"""A server that is killed under load restarts with every transaction that a client saw committed.

usage: killed.py PROGRAM DIRECTORY
"""

import re
import subprocess
import sys
import threading
import time

import psycopg

PROGRAM, DIRECTORY = sys.argv[1:]
CLIENTS = 4
ROUNDS = 5


def start():
    """Starts the server and returns it and its port."""
    server = subprocess.Popen(
        [PROGRAM, "serve", DIRECTORY, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    port = re.search(r":(\d+)$", server.stdout.readline().strip()).group(1)
    return server, port


def connect(port):
    return psycopg.connect(f"host=127.0.0.1 port={port} user=nacre dbname=nacre", autocommit=True)


def work(port, client, acknowledged):
    """Commits one row after the other until the server is gone."""
    number = len(acknowledged)
    try:
        with connect(port) as connection:
            while True:
                connection.execute("begin")
                connection.execute("insert into journal values (%s, %s)", (client, number))
                connection.execute("update total set rows = rows + 1 where client = %s", (client,))
                connection.execute("commit")
                acknowledged.append(number)
                number += 1
    except psycopg.OperationalError:
        pass


journals = [[] for _ in range(CLIENTS)]
server, port = start()
with connect(port) as connection:
    connection.execute("create table journal (client integer, number integer, primary key (client, number))")
    connection.execute("create table total (client integer primary key, rows integer not null)")
    for client in range(CLIENTS):
        connection.execute("insert into total values (%s, 0)", (client,))
for round in range(ROUNDS):
    threads = [
        threading.Thread(target=work, args=(port, client, journals[client])) for client in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.5 + 0.3 * round)
    server.kill()
    server.wait()
    for thread in threads:
        thread.join(30)
    server, port = start()
    with connect(port) as connection:
        for client, journal in enumerate(journals):
            query = "select number from journal where client = %s order by number"
            found = [number for (number,) in connection.execute(query, (client,))]
            # One commit more may have been done and not been heard of.
            assert found == list(range(len(found))), found[-5:]
            assert len(journal) <= len(found) <= len(journal) + 1, (len(journal), len(found))
            total = connection.execute("select rows from total where client = %s", (client,)).fetchone()
            assert total == (len(found),), (total, len(found))
            journal[:] = found
print("committed and found again:", [len(journal) for journal in journals])
server.terminate()
sys.exit(server.wait(30))
