"""Writes tables, rows and queries of TPC-DS into a folder, from the extension of DuckDB.

Arguments: the folder, the scale factor. The extension is one that is installed, or that of the
module duckdb_extension_tpcds; nothing is downloaded.
"""

import importlib.util
import pathlib
import sys

import duckdb


def load_extension(connection):
    module = importlib.util.find_spec("duckdb_extension_tpcds")
    roots = module.submodule_search_locations if module else []
    files = [file for root in roots for file in pathlib.Path(root).rglob("tpcds.duckdb_extension")]
    connection.execute("SET autoinstall_known_extensions = false")
    for name in ["tpcds", *(f"'{file}'" for file in files)]:
        try:
            connection.execute(f"LOAD {name}")
            return
        except duckdb.Error as error:
            problem = error
    sys.exit(f"DuckDB has no extension tpcds: {str(problem).splitlines()[0]}")


def prepare(folder, scale_factor):
    tables, queries = folder / "tables", folder / "queries"
    tables.mkdir(parents=True, exist_ok=True)
    queries.mkdir(exist_ok=True)
    scratch = folder / "prepare.duckdb"
    scratch.unlink(missing_ok=True)
    with duckdb.connect(str(scratch)) as connection:
        load_extension(connection)
        connection.execute(f"CALL dsdgen(sf = {scale_factor})")
        found = connection.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall()
        for name, sql in found:
            path = str(tables / f"{name}.csv").replace("'", "''")
            connection.execute(f"COPY {name} TO '{path}' (FORMAT csv, HEADER)")
            (tables / f"{name}.sql").write_text(sql)
        texts = connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
        for number, sql in texts:
            (queries / f"q{number:02}.sql").write_text(sql)
    scratch.unlink()
    (folder / "scale_factor").write_text(f"{scale_factor}\n")
    print(f"{len(found)} tables and {len(texts)} queries are in {folder}")


prepare(pathlib.Path(sys.argv[1]), sys.argv[2])
