"""Random statements that change rows answer what they answer in PostgreSQL 15, and leave the same.

usage: random_changes.py PROGRAMS SECONDS [SEED [ROUNDS]]

PROGRAMS is the directory of PostgreSQL's programs; its server listens on a socket in a directory of
its own and is run by `nobody` where this script is root. Nacre is the server that PG* names. Rounds
of statements are handed to both by psql: INSERT with ON CONFLICT, UPDATE, DELETE and MERGE over a
table with a key, a unique column, defaults and constraints, with RETURNING, in and out of
transactions. Rows are compared as bags, errors by their code. Another code than PostgreSQL's is
counted only: which of two wrong rows is met first is left open.
"""

import os
import pwd
import random
import re
import subprocess
import sys
import tempfile
import time

PROGRAMS, SECONDS = sys.argv[1], float(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else sys.maxsize
STATEMENTS = 120

TABLE = {
    "id": "int", "a": "int", "b": "text", "c": "numeric", "d": "date", "e": "int", "f": "float",
    "g": "text", "u": "int",
}
ASSIGNED = ["a", "b", "c", "d", "e", "f", "g"]
SOURCE = {"id": "int", "k": "int", "v": "text", "n": "numeric"}
DEFINITIONS = """\
\\set VERBOSITY sqlstate
\\pset null NULL
\\pset tuples_only on
\\pset format unaligned
set client_min_messages = error;
drop table if exists t;
drop table if exists s;
create table t (id int primary key, a int check (a is null or a > -1000), b text, c numeric(8,2),
    d date, e smallint default 3 not null, f float8, g varchar(5), u int unique);
create table s (id int primary key, k int, v text, n numeric(8,2));
"""
LITERALS = {
    "int": ["0", "1", "2", "3", "5", "7", "12", "-4", "100"],
    "text": ["'a'", "'b'", "'xyz'", "''", "'ab'", "'q' || 'r'", "'12'"],
    "numeric": ["1.5", "2.25", "-3.10", "0", "100", "7.005"],
    "float": ["1.5::float8", "0::float8", "-2", "1e3", "2.25"],
    "date": ["date '2024-01-05'", "'2023-12-31'", "date '2024-01-05' + 3"],
}
# What a query of one row over the source gives, by type.
QUERIED = {
    "int": "max(z.k)", "text": "max(z.v)", "numeric": "max(z.n)", "date": "date '2024-03-03'",
    "float": "1.5::float8",
}


class Statements:
    """Draws statements; a scope is a list of names of tables and their columns."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def choose(self, *choices):
        chosen = self.random.choice(choices)
        return chosen() if callable(chosen) else chosen

    def literal(self, kind):
        return "null" if self.chance(0.08) else self.random.choice(LITERALS[kind])

    def column(self, kind, scope):
        columns = [f"{table}.{name}" for table, columns in scope
                   for name, own in columns.items() if own == kind]
        return self.random.choice(columns) if columns else None

    def value(self, kind, scope, depth=0):
        column = self.column(kind, scope)
        if depth > 2 or self.chance(0.3):
            return column if column and self.chance(0.7) else self.literal(kind)

        def part(kind):
            return self.value(kind, scope, depth + 1)

        def any_int():
            return part("int")

        if kind == "int":
            return self.choose(
                lambda: f"({any_int()} + {any_int()})",
                lambda: f"({any_int()} - {any_int()})",
                lambda: f"({any_int()} * 2)",
                lambda: f"length({part('text')})",
                lambda: f"coalesce({any_int()}, {any_int()})",
                lambda: f"abs({any_int()})",
                lambda: f"case when {self.condition(scope, depth + 1)} then {any_int()} "
                        f"else {any_int()} end",
                lambda: f"(select count(*)::int from s z where z.k > {any_int()})",
                lambda: f"({any_int()} / {any_int()})" if self.chance(0.15)
                        else f"({any_int()} % 7)",
            )
        if kind == "text":
            return self.choose(
                lambda: f"({part('text')} || {part('text')})",
                lambda: f"upper({part('text')})",
                lambda: f"substr({part('text')}, 1, 3)",
                lambda: f"({any_int()})::text",
                lambda: f"coalesce({part('text')}, 'n')",
            )
        if kind == "numeric":
            return self.choose(
                lambda: f"({part('numeric')} + {part('numeric')})",
                lambda: f"({part('numeric')} * 2)",
                lambda: f"round({part('numeric')}, 1)",
                lambda: f"({any_int()})::numeric",
                lambda: f"coalesce({part('numeric')}, 0)",
            )
        if kind == "float":
            return self.choose(
                lambda: f"({part('float')} * 2)",
                lambda: f"({any_int()})::float8",
                lambda: f"coalesce({part('float')}, 1)",
            )
        days = self.random.randint(-3, 3)
        return self.choose(
            lambda: f"({part('date')} + {days})" if column else self.literal("date"),
            lambda: f"coalesce({column or 'null'}, date '2024-02-02')",
        )

    def condition(self, scope, depth=0):
        kind = self.random.choice(["int", "int", "text", "numeric"])

        def part(kind):
            return self.value(kind, scope, depth + 1)

        def inner():
            return self.condition(scope, depth + 1) if depth < 2 else "true"

        comparison = self.random.choice(["=", "<", ">", "<>", "<=", ">="])
        return self.choose(
            lambda: f"{part(kind)} {comparison} {part(kind)}",
            lambda: f"{part(kind)} is {self.random.choice(['', 'not '])}null",
            lambda: f"{part('int')} in ({self.literal('int')}, {self.literal('int')})",
            lambda: f"({inner()} and {inner()})",
            lambda: f"({inner()} or {inner()})",
            lambda: f"not ({inner()})",
            lambda: f"exists (select 1 from s z where z.id = {part('int')})",
            lambda: f"{part('int')} in (select z.k from s z)",
            lambda: f"{part('text')} like '%{self.random.choice('abx')}%'",
        )

    def returning(self, scope):
        if self.chance(0.45):
            return ""
        if self.chance(0.3):
            return " returning *"
        items = []
        for number in range(self.random.randint(1, 4)):
            kind = self.random.choice(list(LITERALS))
            label = f" as r{number}" if self.chance(0.3) else ""
            items.append(self.value(kind, scope, 1) + label)
        return " returning " + ", ".join(items)

    def assignments(self, scope, has_queries=True):
        columns = self.random.sample(ASSIGNED, self.random.randint(1, 3))
        kinds = [TABLE[column] for column in columns]
        if len(columns) == 2 and self.chance(0.3):
            names = ", ".join(columns)
            if not has_queries or self.chance(0.5):
                values = ", ".join(self.value(kind, scope) for kind in kinds)
                return f"({names}) = ({values})"
            values = ", ".join(QUERIED[kind] for kind in kinds)
            return f"({names}) = (select {values} from s z where z.id = {self.value('int', scope, 2)})"
        values = ("default" if self.chance(0.12) else self.value(kind, scope) for kind in kinds)
        return ", ".join(f"{column} = {value}" for column, value in zip(columns, values))

    def conflict(self, table):
        if self.chance(0.5):
            return ""
        if self.chance(0.3):
            return f" on conflict {self.random.choice(['', '(id)', '(u)'])} do nothing"
        scope = [(table, TABLE), ("excluded", TABLE)]
        condition = f" where {self.condition(scope)}" if self.chance(0.4) else ""
        target = self.random.choice(["(id)", "(u)", "(id)"])
        return f" on conflict {target} do update set {self.assignments(scope)}{condition}"

    def written_row(self, columns):
        values = []
        for column in columns:
            if column == "id":
                values.append(str(self.random.randint(0, 40)))
            elif column == "u":
                number = str(self.random.randint(0, 60))
                values.append(self.random.choice(["null", "null", number]))
            elif self.chance(0.12):
                values.append("default")
            else:
                values.append(self.value(TABLE[column], [], 1))
        return f"({', '.join(values)})"

    def insert(self):
        alias = self.random.choice(["t", "t", "tt"])
        others = [column for column in TABLE if column != "id"]
        columns = ["id"] + self.random.sample(others, self.random.randint(0, 5))
        if self.chance(0.3):
            columns = list(TABLE)
        if self.chance(0.6):
            rows = (self.written_row(columns) for _ in range(self.random.choice([1, 1, 2, 3, 4])))
            source = "values " + ", ".join(rows)
        else:
            scope = [("z", SOURCE)]
            first = f"z.id + {self.random.randint(0, 30)}"
            values = (first if column == "id" else "null::int" if column == "u"
                      else self.value(TABLE[column], scope, 1) for column in columns)
            condition = f" where {self.condition(scope)}" if self.chance(0.6) else ""
            source = f"select {', '.join(values)} from s z{condition}"
        name = "t as tt" if alias == "tt" else "t"
        rest = self.conflict(alias) + self.returning([(alias, TABLE)])
        return f"insert into {name} ({', '.join(columns)}) {source}{rest}"

    def joined(self, word):
        """Draws a name for the table, a join with the source, and the first condition."""
        alias = self.random.choice(["t", "x"])
        name = "t as x" if alias == "x" else "t"
        scope = [(alias, TABLE)]
        if self.chance(0.6):
            return name, alias, "", scope, []
        scope.append(("y", SOURCE))
        return name, alias, f" {word} s y", scope, [f"{alias}.id = y.id + {self.random.randint(0, 8)}"]

    def update(self):
        name, _, join, scope, conditions = self.joined("from")
        assignments = self.assignments(scope)
        if self.chance(0.75):
            conditions.append(self.condition(scope))
        where = " where " + " and ".join(conditions) if conditions else ""
        return f"update {name} set {assignments}{join}{where}{self.returning(scope)}"

    def delete(self):
        name, alias, join, scope, conditions = self.joined("using")
        conditions.append(self.condition(scope))
        conditions.append(f"{alias}.id % {self.random.randint(2, 5)} = 1")
        return f"delete from {name}{join} where {' and '.join(conditions)}{self.returning(scope)}"

    def merge(self):
        scope, source = [("t", TABLE), ("y", SOURCE)], [("y", SOURCE)]
        offset = self.random.randint(0, 20)

        # PostgreSQL 15 crashes where a query sets several columns in MERGE.
        def matched():
            update = f"update set {self.assignments(scope, has_queries=False)}"
            return self.random.choice(["delete", "do nothing", update, update])

        clauses = [f"when matched and {self.condition(scope)} then {matched()}"
                   for _ in range(self.random.randint(0, 2))]
        if self.chance(0.7):
            clauses.append(f"when matched then {matched()}")
        if self.chance(0.8) or not clauses:
            columns = self.random.sample(ASSIGNED, self.random.randint(0, 3))
            values = [f"y.id + {offset}"]
            values += ["default" if self.chance(0.1) else self.value(TABLE[column], source, 1)
                       for column in columns]
            condition = f" and {self.condition(source)}" if self.chance(0.5) else ""
            clauses.append(f"when not matched{condition} then insert ({', '.join(['id'] + columns)}) "
                           f"values ({', '.join(values)})")
        return f"merge into t using s y on t.id = y.id + {offset} {' '.join(clauses)}"

    def change_source(self):
        number = self.random.randint(0, 20)
        return self.choose(
            lambda: f"update s set k = {self.value('int', [('s', SOURCE)], 1)}, "
                    f"v = {self.value('text', [('s', SOURCE)], 1)} where s.id < {number}",
            lambda: f"insert into s values ({number}, {self.literal('int')}, {self.literal('text')}, "
                    f"{self.literal('numeric')}) on conflict (id) "
                    "do update set k = excluded.k + s.k, n = excluded.n",
            lambda: f"delete from s where s.id = {number} and s.id > 5",
        )

    def statement(self):
        draws = [self.insert] * 30 + [self.update] * 30 + [self.delete] * 12 + [self.merge] * 16
        draws += [self.change_source] * 6
        control = ["begin", "commit", "rollback", "savepoint p1", "rollback to p1", "begin", "commit"]
        draws += [lambda: self.random.choice(control)] * 6
        return self.random.choice(draws)()

    def round(self):
        """Draws a round; returns its statements, and the script of them."""
        rows = (f"({number}, {self.literal('int')}, {self.literal('text')}, {self.literal('numeric')})"
                for number in range(10))
        lines = [DEFINITIONS, f"insert into s values {', '.join(rows)};"]
        statements = [self.statement() for _ in range(STATEMENTS)]
        for number, statement in enumerate(statements):
            lines += [f"\\echo @@{number}", f"{statement};"]
            if number % 6 == 5:
                lines.append("select * from t order by id;")
        lines += [f"\\echo @@{STATEMENTS}", "rollback;", "table t order by id;", "table s order by id;"]
        return statements, "\n".join(lines) + "\n"


class Reference:
    """A server of PostgreSQL that ends with its block."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="changes")
        self.path = self.directory.name
        self.user = {}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.path, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.run("initdb", "-D", f"{self.path}/data", "-A", "trust", "-U", "nacre", "--locale=C",
                 "-E", "UTF8")
        self.run("pg_ctl", "-D", f"{self.path}/data", "-w", "-o", f"-k {self.path} -h ''",
                 "-l", f"{self.path}/log", "start")
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", f"{self.path}/data", "-m", "immediate", "stop")
        self.directory.cleanup()

    def run(self, program, *arguments):
        subprocess.run([os.path.join(PROGRAMS, program), *arguments], check=True, cwd=self.path,
                       stdout=subprocess.DEVNULL, **self.user)


def answers(script, environment):
    """Runs a script; returns the lines of each statement in order of their text."""
    command = [os.path.join(PROGRAMS, "psql"), "-X", "-q"]
    run = subprocess.run(command, input=script, text=True, env={**os.environ, **environment},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    pieces = re.split(r"@@(\d+)\n", re.sub(r"psql:[^:]*:\d+: ", "", run.stdout))[1:]
    return {int(number): sorted(filter(None, text.splitlines()))
            for number, text in zip(pieces[::2], pieces[1::2])}


def errors(lines):
    return [line for line in lines if line.startswith("ERROR")]


def main():
    counts = {"statements": 0, "differences": 0, "other codes": 0, "errors of both": 0}
    end, seed = time.monotonic() + SECONDS, SEED
    with Reference() as reference:
        theirs_at = {"PGHOST": reference.path, "PGUSER": "nacre", "PGDATABASE": "postgres"}
        while time.monotonic() < end and seed < SEED + ROUNDS:
            statements, script = Statements(seed).round()
            theirs, ours = answers(script, theirs_at), answers(script, {})
            for number in range(STATEMENTS + 1):
                counts["statements"] += 1
                their, our = theirs.get(number, []), ours.get(number)
                if their == our:
                    counts["errors of both"] += bool(errors(their))
                elif errors(their) and errors(our or []):
                    counts["other codes"] += 1
                else:
                    counts["differences"] += 1
                    text = statements[number] if number < STATEMENTS else "the end"
                    print(f"seed {seed}, statement {number}: {text}\n  PostgreSQL: {their}\n  Nacre: {our}")
                    break
            seed += 1
    print(f"seed {SEED}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    sys.exit(counts["differences"] > 0)


main()
