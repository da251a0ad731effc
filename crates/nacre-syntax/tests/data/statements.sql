-- One statement a line; those that are wrong are as welcome as those that are right.
-- Lexer
select 'a' 'b'
select 'a' -- c
select /* a /* nested */ b */ 1
select /* open
select 'open
select "open
select e'open\'
select b'open
select x'open
select $$open
select $tag$ open $ta$
select ""
select 1a
select 1.5e
select 1.5e+
select 1..2
select 0x1f
select 1_000
select $1a
select $1
select .5, 1., 1e5, 1.5E-3, 99999999999999999999
select e'\n\t\\\'\x41\101\u00e9\U0001F600'
select e'\u00'
select e'\ud83d'
select e'\ud83d\ude00'
select U&'\0041\+01F600', U&"\0041" from t
select U&'!0041' uescape '!'
select U&'!0041' uescape '+'
select U&'!0041' uescape 'ab'
select U&'!0041' uescape 1
select U&'\00'
select n'abc', b'0101', x'1F'
select a <-> b, a @- b, a=-1, a<=-1, a !~~* b
select a <>b, a != b
select a := b
select a => b
select @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1
select {
select \
select #1
;
select 1;
select 1;;
select 1 2
select 1; select
-- Names and keywords
select a, "A", "select", abort, t.select, s.t.c, c.s.t.x
select select
select left, right from t
select left('abc', 1), right('abc', 1)
select between, int, values from t
select char, time, timestamp, interval, bit from t
select a as select, b as from, c "d", e f
select a over
select a filter
select a year
select a precision
select a.*, (b).*, (c.d).e, $1.f, (select x).y
select a.*.b
select a.
select .a
select *
select *, a
select * a
select a b c
select t.* as x
select coalesce, greatest, nullif, row from t
select current_date.x
-- Literals of types
select int '1', integer '1', float8 '1.5', numeric(5, 2) '1.5', double precision '2', float(3) '1'
select date '2020-01-01', timestamp '2020-01-01', time(3) '10:00', timestamp(3) with time zone 'now'
select time without time zone '10:00', timestamp without time zone 'now'
select interval '1 day', interval '1' day, interval '1:2' hour to minute, interval(3) '1 s'
select interval '1' second(3), interval '1-2' year to month, interval '1' month to day
select interval '1' year to day
select interval '1' day to month
select interval(3) '1' day
select interval 1
select char 'a', char(3) 'abc', varchar(3) 'abc', character varying 'a', national character 'a', nchar 'x'
select bit '1', bit(3) '101', bit varying(3) '1'
select pg_catalog.int4 '1', json '{}', "char" 'a'
select mytype(1, 2) 'x'
select mytype(a => 1) 'x'
select float(0) '1'
select float(54) '1'
select int(3) '1'
select varchar(a) 'x'
-- Operators
select a + b * c ^ d, - a ^ b, a || b || c, not a and not b or c
select a = b = c
select a < b < c
select a is null is null, a isnull isnull, a notnull
select a is distinct from b, a is not distinct from b is true
select a is true, a is not false, a is unknown, a is not unknown, a is document, a is not document
select a is normalized, a is not nfkc normalized, a is nfc
select a is not
select a is not 1
select a between 1 and 2, a not between symmetric 1 and 2, a between asymmetric b and c
select a between 1 and 2 and 3
select a between 1 and 2 between 3 and 4
select a between 1 or 2
select a between (b and c) and d
select a in (1, 2), a not in (select 1), a in ((select 1)), a in ((select 1), 2), a in (values (1))
select a in ()
select a in 1
select a in (1) in (2)
select a like b, a not like b escape c, a ilike b, a similar to b escape '#', a not similar to b
select a like b like c
select a like b escape c escape d
select a similar b
select a not b
select a not null
select a = any (b), a <> all (select 1), a < some (array[1]), a like any (b), a not ilike all (c)
select a = any b
select a = any (1, 2)
select a similar to any (b)
select (a, b) overlaps (c, d), row(a, b) overlaps row(c, d)
select a overlaps b
select (a, b) overlaps c
select a at time zone 'utc' at time zone b, a collate "C" || b collate "pg_catalog"."C"
select a at time zone
select a at utc
select a::int, -1::int, a::int[]::text, a::numeric(3, 1), (a || b)::text
select a::
select a::setof int
select a operator(pg_catalog.+) b, operator(pg_catalog.-) b, a operator(+) b
select a operator(pg_catalog.) b
select a operator() b
select a operator
select ~ a, @ b, !! c, + + - a, - - a
select a + , b
select a ! b !
select and a
select not
select (a
select a)
select ((a))
select ()
select (a, b), (a, b) = (c, d), row(), row(a), row(a, b).x
select (a, )
select (row(a, b)).f1
-- Subscripts and fields
select a[1], a[1:2], a[:2], a[1:], a[:], a[1][2], (a[1]).b[2], $1[1], (select x)[1]
select a[]
select a[1
select a[1:2:3]
select f(x)[1]
select (f(x))[1], (f(x)).y
select f(x).y
select array[1, 2], array[]::int[], array[[1, 2], [3, 4]], array(select 1), array[array[1]]
select array[1, 2][1]
select (array[1, 2])[1]
select array[[1], 2]
select array
select array 1
-- CASE, CAST, functions
select case when a then b end, case a when 1 then 2 when 2 then 3 else 4 end
select case end
select case when a then b
select case when a end
select case a else b end
select cast(a as int), cast(a as timestamp(3) with time zone), cast(a as text[])
select cast(a int)
select cast(a as)
select cast a
select f(), f(a), f(a, b), f(*), f(all a), f(distinct a, b), f(a order by b desc nulls last, c using <)
select f(a => 1, b := 2), f(variadic a), f(1, variadic b), s.f(a), left(a)
select f(variadic a, b)
select f(distinct)
select f(,)
select f(a,)
select f(a b)
select f(* )
select f(*, a)
select f(distinct variadic a)
select s.f.g(1)
select percentile_cont(0.5) within group (order by a), rank(1) within group (order by a) filter (where b)
select f(distinct a) within group (order by b)
select f(a order by b) within group (order by c)
select f(variadic a) within group (order by c)
select f(a) within group (a)
select f(a) filter (b)
select f(a) filter (where b) over w, f(a) over (), f(a) over (w), f(a) over (partition by b order by c)
select f(a) over (w partition by a rows 1 preceding)
select f() over (rows between 1 preceding and 2 following exclude current row)
select f() over (range between unbounded preceding and unbounded following exclude ties)
select f() over (groups between current row and 1 following exclude group)
select f() over (rows unbounded preceding exclude no others)
select f() over (rows unbounded following)
select f() over (rows between current row and unbounded preceding)
select f() over (rows between 1 following and 1 preceding)
select f() over (rows 1 following)
select f() over (rows between current row and 1 preceding)
select f() over (rows between 1)
select f() over (order a)
select f() over 1
select coalesce(a, b), greatest(a), least(a, b, c), nullif(a, b)
select coalesce()
select nullif(a)
select nullif(a, b, c)
select extract(year from a), extract('epoch' from a), extract(dow from a), extract(second from a)
select extract(a, b)
select extract(select from a)
select position(a in b), position('a' || 'b' in c)
select position(a, b)
select position(a in b in c)
select substring(a from 2 for 3), substring(a for 3 from 2), substring(a from 2), substring(a for 2)
select substring(a, 2, 3), substring(a similar b escape c), substring()
select substring(a from)
select substring(a similar b)
select overlay(a placing b from 1 for 2), overlay(a placing b from 1), overlay(a, b, 1)
select overlay(a placing b)
select trim(a), trim(both from a), trim(leading 'x' from a), trim('x' from a), trim(a, b), trim(trailing a, b), trim(from a)
select trim()
select trim(both)
select normalize(a), normalize(a, nfc), normalize(a, abc)
select treat(a as b), collation for (a), collation for a
select current_date, current_time(3), current_timestamp, localtime, localtimestamp(2), current_user, session_user, user, current_role, current_catalog, current_schema
select current_schema(), current_date()
select current_time(a)
select grouping(a, b), grouping, exists (select 1), exists
select exists (1)
select exists select 1
select default, default + 1
-- SELECT
select
select from t
select where a
select all
select all a
select distinct
select distinct a
select distinct on (a) b
select distinct on a b
select distinct from t
select a from
select a from t, u as v, w x (a, b), only t, only (t), t *
select a from t as
select a from t as x y
select a from select 1
select a from (select 1) x, (values (1)) as y (a), lateral (select 1) z, ((select 1)) q
select a from (select 1)
select a from (values (1))
select a from lateral (select 1)
select a from ((select 1) x)
select a from (select 1) union select 2
select a from ((select 1) union select 2) x
select a from ((select 1) x join t on true)
select a from (t)
select a from (t join u on true), (t join u using (a)) as v, ((t cross join u) join w on true)
select a from t join u on a = b left join v using (c) as j right outer join w on true full join x on false
select a from t natural join u natural left join v cross join w inner join x on true
select a from t join u join v on 1 = 1 on 2 = 2
select a from t join u
select a from t join u join v on true
select a from t left u on true
select a from t cross join u on true
select a from t natural join u on true
select a from t join u using a
select a from t join on true
select a from f(), f(1) x, f(1) as x (a int, b text), f(1) as (a int), f() with ordinality as t (a, n)
select a from lateral f(x) y, s.f(1), rows from (f(1), g(2) as (a int)) with ordinality as x
select a from rows from ()
select a from lateral t
select a from f(1) as (a, b)
select a from left(1, 2), cast(a as int) x, coalesce(1) y, current_date z
select a from left
select a from t tablesample system (10) repeatable (1), t x tablesample s.m (1)
select a from t tablesample
select a from t where
select a from t where b group by c having d
select a from t group by a, (b, c), (), rollup (a, b), cube (a), grouping sets ((a), (), rollup (b))
select a from t group by distinct a
select a from t group by all a
select a from t group by
select a from t group a
select a from t having b
select a from t window w as (partition by a), x as (w order by b)
select a from t window w
select a from t order by a, b desc, c asc nulls first, d using >, e using operator(pg_catalog.<) nulls last
select a from t order by
select a from t order by a asc desc
select a from t order by a nulls
select a from t limit 1 offset 2
select a from t offset 2 limit 1
select a from t limit all
select a from t limit 1, 2
select a from t limit 1 limit 2
select a from t offset 1 rows fetch next 2 rows only
select a from t fetch first row only
select a from t order by a fetch first 3 rows with ties
select a from t fetch first 3 rows with ties
select a from t order by a fetch first 3 rows with ties for update skip locked
select a from t fetch first -1 rows only
select a from t fetch first 3
select a from t for update
select a from t for no key update of t, u nowait for share skip locked for key share
select a from t for update limit 1
select a from t for read only
select a from t for
select a from t limit 1 for update offset 2
select a into t from u
select a into temp t from u
select a into temporary table s.t from u
select a into unlogged table t
select a into table t
select a into from t
select 1 union select 2 intersect select 3 except all select 4 order by 1
select 1 union distinct select 2
(select 1) union (select 2 order by 1) limit 1
(select 1 limit 1) order by 1
((select 1))
((select 1) union select 2)
select 1 union
union select 1
select 1 order by 1 union select 2
values (1), (2, 3)
values
values ()
values (1) order by 1
table t
table only t order by 1
table
with a as (select 1) select * from a
with a (b, c) as materialized (values (1, 2)), d as not materialized (table t) select 1
with recursive a as (select 1 union all select 2) select 1
with a as (insert into t values (1) returning *) select * from a
with a as (delete from t returning *), b as (update t set a = 1) select 1
with recursive a as (select 1) search depth first by x, y set z select 1
with recursive a as (select 1) search breadth first by x set z cycle x set c to 1 default 0 using p select 1
with recursive a as (select 1) cycle x set c using p select 1
with a as select 1 select 2
with a as (select 1)
with a as () select 1
with a select 1
select (with a as (select 1) select 1)
with a as (select 1) (select 2)
select (select 1), ((select 1)) + 1, ((select 1) + 1, 2), (((select 1)) union select 2)
select ((select 1) order by 1)
-- INSERT, UPDATE, DELETE, MERGE
insert into t values (1, default), (2, 3)
insert into s.t as x (a, b[1], c.d) select 1, 2, 3
insert into t default values
insert into t (a) default values
insert into t (select 1)
insert into t ((select 1))
insert into t (a) (select 1)
insert into t (a) ((values (1)))
insert into t overriding user value values (1)
insert into t (a) overriding system value select 1
insert into t overriding value values (1)
insert into t () values (1)
insert into t (a values (1)
insert into t
insert t values (1)
insert into t x values (1)
insert into t values (1) on conflict do nothing
insert into t values (1) on conflict (a, lower(b), (c + 1) collate "C" text_ops) where d do update set a = excluded.a where b
insert into t values (1) on conflict on constraint c do update set (a, b) = (1, 2), c = default
insert into t values (1) on conflict do update set a = 1
insert into t values (1) on conflict (a)
insert into t values (1) on conflict do delete
insert into t values (1) returning *, a as b, c d
insert into t values (1) returning
with a as (select 1) insert into t select * from a
insert into t with a as (select 1) select * from a
insert into t table u
insert into t select 1 on conflict do nothing
update t set a = 1
update only t as x set a = 1, b[1] = 2, c.d = default, (e, f) = (select 1, 2), (g) = row(1) from u, v where a returning *
update t * set a = 1
update t x set a = 1
update t set set = 1
update t as set set a = 1
update t set
update t set a
update t set a = 1,
update t set a = 1 where current of c
update t set a = 1 from
update t set (a, b) = 1, 2
update t set t.a = 1 where
delete from t
delete from only t x using u, v where a returning a
delete from t where current of c
delete t
delete from t where
delete from t using
delete from t set
merge into t using u on a = b when matched then update set a = 1 when not matched then insert values (1)
merge into t as x using (select 1) u on true when matched and a then delete when matched then do nothing
merge into only t using u on a when not matched and b then insert (a, b) overriding user value values (1, default)
merge into t using u on a when not matched then insert default values
merge into t using u on a
merge into t using u when matched then delete
merge into t using u on a when matched then insert values (1)
merge into t using u on a when not matched then delete
merge into t using u on a when not matched then update set a = 1
with a as (select 1) merge into t using a on b when matched then delete
-- CREATE TABLE
create table t ()
create table t (a int)
create table if not exists s.t (a int not null default 1 + 2, b text collate "C" unique, c int primary key)
create temp table t (a int) on commit drop
create temporary table t (a int) on commit delete rows
create local temp table t (a int) on commit preserve rows
create unlogged table t (a int) with (fillfactor = 70, s.a = on, b) tablespace x
create global table t (a int)
create table t (a int check (a > 0) no inherit constraint c check (a < 5))
create table t (a int references u, b int references u (c) match full on delete cascade on update set null)
create table t (a int references u on delete set null (a) on update no action deferrable initially deferred)
create table t (a int references u on delete cascade on delete cascade)
create table t (a int references u on update set null (a))
create table t (a int generated always as identity, b int generated by default as identity (start 5 increment by 2 no cycle))
create table t (a int generated always as (b + 1) stored)
create table t (a int generated by default as (b + 1) stored)
create table t (a int generated as identity)
create table t (a int, primary key (a), unique (a, b) include (c), check (a > 0) not valid)
create table t (a int, constraint x foreign key (a, b) references u (c, d) on delete restrict on update set default)
create table t (a int, unique nulls not distinct (a), exclude using gist (a with =, (b + 1) with operator(pg_catalog.<>)) where (c))
create table t (a int, unique using index i)
create table t (a int, check (a > 0) deferrable)
create table t (a int, unique (a) no inherit)
create table t (a int, foreign key (a) references u no inherit)
create table t (a int, like u including all excluding indexes)
create table t (like s.u including defaults including bogus)
create table t (a int collate "C" collate "D")
create table t (a int default a in (1))
create table t (a int default (a in (1)) not null)
create table t (a int constraint c)
create table t (a int not)
create table t (a int deferrable initially immediate not deferrable)
create table t (a setof int, b int[], c int[3][], d int array[4], e int array)
create table t (a int,)
create table t (, a int)
create table t (a)
create table t (a int b)
create table t
create table
create table t (a int) inherits (u, v) partition by range (a, (b + 1) collate "C" int4_ops)
create table t (a int) partition by list
create table t partition of u for values in (1, 2)
create table t partition of u for values from (minvalue) to (maxvalue) partition by hash (a)
create table t partition of u for values with (modulus 4, remainder 1)
create table t partition of u default
create table t partition of u (a not null default 1, check (a > 0)) for values in (null)
create table t partition of u
create table t partition u
create table t partition of u for values in ()
create table t of s.u
create table t of u (a with options primary key, b not null)
create table t as select 1
create table if not exists t (a, b) with (fillfactor = 70) as values (1, 2) with no data
create table t as table u with data
create table t as execute p (1)
create table t (a) as
create table t as insert into u values (1)
create table t (a int) as select 1
create materialized view v as select 1 with no data
create materialized view if not exists v (a) using heap with (fillfactor = 70) tablespace x as select 1
create table t (a int options (x 'y'))
create table t (a varchar(10), b char(3), c numeric(10, 2), d timestamptz, e time with time zone, f interval day to second(3))
create table t (constraint c primary key (a))
create table t (a int) using heap
create table t (a int compression pglz)
create table t (a int) without oids
create table t (a int) with oids
-- Indexes, views, sequences, schemas
create index on t (a)
create unique index concurrently if not exists i on only s.t using btree (a desc nulls last, lower(b), (c || d) collate "C" text_pattern_ops asc) include (e) with (fillfactor = 70) tablespace x where a > 0
create index i on t (a + 1)
create index i on t ((a + 1))
create index i on t (a text_ops (x = 1))
create index if not exists on t (a)
create index i on t ()
create index i t (a)
create index i on t (a) nulls not distinct
create unique t
create or replace index i on t (a)
create view v as select 1
create or replace temp view s.v (a, b) with (security_barrier = true) as values (1, 2) with local check option
create recursive view v (a) as select 1
create recursive view v as select 1
create view v as select 1 with cascaded check option
create view v as select 1 with check option
create view v as insert into t values (1)
create view if not exists v as select 1
create sequence s
create temp sequence if not exists x.s as bigint increment by -1 minvalue 1 no maxvalue start with 5 cache 10 cycle owned by t.a
create sequence s owned by none no minvalue maxvalue 10 increment 2 start 3 restart
create sequence s no
create sequence s start a
alter sequence s restart
alter sequence if exists s restart with 5 increment 2
alter sequence s owner to r
alter sequence s rename to t
alter sequence s set schema x
alter sequence s
create schema s
create schema if not exists s authorization r
create schema authorization current_user
create schema s create table t (a int) create view v as select 1
create schema if not exists s create table t (a int)
create schema
-- ALTER TABLE
alter table t add a int
alter table if exists only s.t add column if not exists a int not null, drop column if exists b cascade
alter table t alter a type text collate "C" using b::text, alter column a set data type int
alter table t alter a set default 1, alter a drop default, alter a set not null, alter a drop not null
alter table t alter a add generated always as identity (start 3), alter a set generated by default set increment 2 restart
alter table t alter a drop identity if exists, alter a drop expression if exists, alter a set statistics 100, alter a set storage plain
alter table t alter a set (n_distinct = 5), alter a reset (n_distinct), alter a set compression lz4
alter table t add constraint c check (a > 0) not valid, add primary key (a), add unique using index i deferrable
alter table t add foreign key (a) references u (b), validate constraint c, drop constraint if exists d cascade
alter table t alter constraint c deferrable initially deferred
alter table t alter constraint c not valid
alter table t alter constraint c not deferrable initially deferred
alter table t set (fillfactor = 70), reset (fillfactor), owner to r, set tablespace x, set logged, set without cluster
alter table t rename to u
alter table t rename column a to b
alter table t rename a to b
alter table t rename constraint a to b
alter table t rename a
alter table t rename to u, add a int
alter table t set schema s
alter table t enable trigger all, disable row level security, force row level security, no inherit u, inherit v
alter table t enable always rule r, replica identity using index i, cluster on i, of x
alter table t attach partition u for values in (1)
alter table t attach partition u
alter table t detach partition u concurrently
alter table t add
alter table t drop
alter table t alter a
alter table t alter a set
alter table t alter a drop
alter table t foo
alter table t
alter table
alter index i rename to j
alter index i set (fillfactor = 70)
alter index i attach partition j
alter view v alter a set default 1
alter view v rename column a to b
alter view v owner to current_user
alter materialized view v set (fillfactor = 70)
alter table all in tablespace x owned by r set tablespace y nowait
alter schema s rename to t
alter schema s owner to r
alter database d owner to r
alter foo
-- DROP, TRUNCATE, COMMENT
drop table t
drop table if exists s.t, u cascade
drop view v restrict
drop materialized view v
drop index concurrently if exists i, j
drop sequence s
drop schema if exists s, t cascade
drop schema s.t
drop database if exists d
drop database d (force)
drop role if exists a, b
drop user a
drop role a cascade
drop type s.t cascade
drop domain d
drop collation c
drop extension e
drop table
drop t
drop table t u
drop table if t
drop
truncate t
truncate table only t, u restart identity cascade
truncate t continue identity restrict
truncate
truncate t restart
comment on table s.t is 'x'
comment on column t.a is null
comment on constraint c on t is 'x'
comment on schema s is 'x'
comment on database d is 'x'
comment on role r is 'x'
comment on index i is 5
comment on table t
comment table t is 'x'
-- Roles and privileges
create role r
create user u with superuser nocreatedb login password 'x' connection limit 5 valid until '2030-01-01'
create group g in role a, b role c, d admin e user f sysid 5
create role r encrypted password 'x' inherit noinherit
create role r foo
create role r password null
create role r password
create role
alter role r nologin
alter user current_user password 'x'
alter role r rename to s
alter role r in role s
reassign owned by a, b to c
drop owned by a, current_user cascade
grant select, insert (a, b), update on t to r
grant all privileges on table s.t, u to public, r with grant option
grant all on all tables in schema s, t to r granted by current_user
grant usage on sequence s to group r
grant create on schema s to r
grant connect on database d to r
grant a, b to c with admin option
grant all to c
grant select on to r
grant select on t
grant select on t to
grant on t to r
revoke select on t from r cascade
revoke grant option for all on t from r
revoke admin option for a from b restrict
revoke a from b granted by c
revoke select on t to r
grant execute on function f(int) to r
-- Transactions
begin
begin work isolation level serializable, read only
begin transaction read write deferrable
start transaction isolation level repeatable read not deferrable
start
begin isolation level foo
begin isolation level read
commit
commit work and chain
commit and no chain
end transaction
rollback
abort and chain
rollback to a
rollback work to savepoint a
savepoint a
savepoint
release a
release savepoint a
release savepoint
prepare transaction 'x'
commit prepared 'x'
rollback prepared 'x'
commit and
commit 1
-- Settings
set a = 1
set a.b to 'x', c, 5, -1.5, on, true
set session a = default
set local a to default
set a from current
set a
set a =
set = 1
set a = 1 2
set time zone 'utc'
set time zone local
set local time zone interval '1' hour
set time zone interval '1:00' hour to minute
set time zone -5.5
set time zone utc
set time zone
set names 'utf8'
set names default
set names
set role r
set role none
set role 'r'
set session authorization r
set session authorization default
set local session authorization 'r'
set session authorization
set transaction isolation level read committed
set transaction snapshot 'x'
set transaction
set session characteristics as transaction read only
set constraints all deferred
set constraints s.a, b immediate
set constraints all
set schema 'x'
set xml option document
set role = 1
set session = 1
set local = 1
set time = 1
reset a
reset all
reset time zone
reset session authorization
reset transaction isolation level
reset
show a
show a.b
show all
show time zone
show transaction isolation level
show session authorization
show
show tables
-- EXPLAIN, PREPARE, cursors
explain select 1
explain analyze verbose insert into t values (1)
explain verbose delete from t
explain (analyze, costs off, format json, buffers true, timing 'off') select 1
explain (select 1)
explain ((select 1) union select 2)
explain (analyze false) create table t as select 1
explain declare c cursor for select 1
explain execute p (1)
explain merge into t using u on a when matched then delete
explain create table t (a int)
explain create view v as select 1
explain analyze
explain explain select 1
explain verbose analyze select 1
explain () select 1
prepare p as select $1
prepare p (int, text[]) as insert into t values ($1, $2)
prepare p as create table t (a int)
prepare p select 1
execute p
execute p (1, 'a')
execute
deallocate p
deallocate prepare p
deallocate all
deallocate prepare all
deallocate prepare
deallocate
declare c cursor for select 1
declare c binary insensitive no scroll cursor with hold for select 1 for update
declare c asensitive scroll cursor without hold for values (1)
declare c cursor select 1
declare c cursor for insert into t values (1)
fetch c
fetch from c
fetch next from c
fetch prior in c
fetch first c
fetch last from c
fetch absolute -1 from c
fetch relative 5 from c
fetch 5 from c
fetch -5 c
fetch all from c
fetch forward c
fetch forward 5 in c
fetch forward all from c
fetch backward all c
move backward 2 from c
fetch next
fetch absolute from c
fetch
fetch 1.5 from c
close c
close all
close
-- Maintenance
vacuum
vacuum full freeze verbose analyze t (a, b), s.u
vacuum (full, analyze false, parallel 2) t
vacuum verbose full t
vacuum t u
analyze
analyze verbose t (a), u
analyze (verbose, skip_locked true) t
analyze full t
checkpoint
checkpoint now
lock t
lock table only t, u in access exclusive mode nowait
lock t in share row exclusive mode
lock t in share exclusive mode
lock t in foo mode
discard all
discard plans
discard temp
discard foo
listen c
unlisten *
unlisten c
notify c
notify c, 'x'
notify c, 5
-- COPY
copy t from 'f'
copy s.t (a, b) to stdout with (format csv, header true, delimiter ',', force_quote (a, b), null '')
copy t from stdin (format csv, header match, force_null (a), encoding 'UTF8', freeze)
copy (select 1) to '/tmp/x' csv header
copy (insert into t values (1) returning a) to stdout
copy t from 'f' using delimiters '|' with null as 'x' csv quote '"' escape as '\' force not null a, b
copy binary t to stdout
copy t to stdout binary
copy t from program 'cat' where a > 0
copy t to stdout where a > 0
copy t from program stdin
copy t to stdout csv force quote *
copy t from
copy t
copy (select 1) from stdin
copy t from stdin (format)
copy t from stdin ()
copy t from stdin (force_quote *)
copy t from f
-- Others
foo
create
create foo
create or replace
create or replace table t (a int)
select 1 from t where a = 1 order by b limit 5 offset 2 for update of t
call p(1)
do 'x'
create function f() returns int language sql as 'select 1'
create role "none"
create role public
create user current_user
alter role none nologin
grant select on t to "public"
-- Words that are missing, too many or misspelt
selec 1
select 1 from t where
select * fro t
select 1 +
select (1
select 1)
select 'abc
select a b c from t
select from where
insert into t values
insert into t (a, b) value (1, 2)
update t a = 1
update t set a = where b
delete t where a = 1
delete from t wher a = 1
create table (a int)
create table u (a int,)
create table u (a int b int)
create tabel u (a int)
create index on t
create view v select 1
drop tabel t
alter table t add colum
alter table t rename to
grant select t to r
copy t form stdin
begin transaktion
explain selct 1
select case when a then 1
select 1 group by
select a from t order
select a from t limit limit
select * from t join u on
select * from a, , b
select count(*) filter where a from t
vacuum analyze (
create sequence s start
fetch next rows from
commit now
merge into t using s when matched then delete
select 1 fetch first 2 rows with ties
select "a
select $$a
select 1 /* a
select U&'\zzzz'
do 1
select * from t tablesample
select distinct on a from t
select 0x
select 1e
select @
select a.b.
select array[1,
select row(
analyze t (
reindex
listen
