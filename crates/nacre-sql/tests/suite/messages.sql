select a['x'] from t
select arr['x'] from t
select b[1] from t
select 1 = any(2)
select 1 = any('x')
select a = any(b) from t
select array[1, 'x']
select array[1, true]
select (select a, b from t)
select * from t where a in (select a, b from u)
select * from t where exists (select 1 from u where u.a = t.a) or a = 1
select (select max(u.a) from u where u.a > t.a) + 1 from t
select (select u.b from u where u.a < t.a order by u.b limit 1) from t
select * from t, lateral (select * from u where u.a = t.a limit 1) x
select a, (select count(*) from u where u.a = t.a and u.b = (select max(b) from u v where v.a = t.a)) from t
select sum(b) from t
select avg(d) from t
select b + 1 from t
select b * n from t
select d * 2 from t
select d / 2 from t
select ts - 1 from t
select ts + ts from t
select iv * b from t
select iv / 0 from t
select u + 1 from t
select u > 1 from t
select y + 1 from t
select y || 1 from t
select a || b || f from t
select -b from t
select not a from t
select @ b from t
select b::int from t
select 'x'::uuid
select 'x'::json
select f::date from t
select a::timestamp from t
select a::uuid from t
select d::int from t
select ts::bool from t
select iv::int from t
select arr::int from t
select b::int[] from t
select array_agg(a) || 'x' from t
select extract(foo from ts) from t
select extract(epoch from b) from t
select extract(year from a) from t
select date_trunc('foo', ts) from t
select date_trunc(1, ts) from t
select to_char(a, 1) from t
select round(b) from t
select round(1, 2, 3)
select substring(a from 1) from t
select lower(1)
select upper(a, b) from t
select coalesce(a, b) from t
select greatest(a, b) from t
select case when a then 1 end from t
select case a when 'x' then 1 else 'y' end from t
select nullif(a, b, 1) from t
select generate_series('a', 'b')
select * from generate_series(1)
select * from generate_series(1, 2, 0)
select * from unnest(1)
select unnest(a) from t
select row_number() from t
select rank() over (order by a rows between b preceding and current row) from t
select sum(a) over (order by a range between 'x' preceding and current row) from t
select lag(a, 'x') over (order by a) from t
select ntile('x') over (order by a) from t
select count(distinct a, b) from t
select string_agg(a, b) from t
select string_agg(a) from t
select percentile_cont(0.5) within group (order by b) from t
select percentile_cont('x') within group (order by a) from t
select a from t group by b
select a, sum(b) from t group by a
select a from t having a > 1
select max(sum(a)) from t
select a from t where sum(a) > 1
select * from t order by 17
select * from t limit 'x'
select * from t limit -1
select * from t offset a
select * from t union select * from u
select a from t union select b from u
select a from t intersect select d from t
select * from t join u on a
select * from t join u using (z)
select * from t natural join nope
select * from t full join u on t.a > u.a
select * from t full join u on t.a = u.a and t.b like u.b
select nope(1)
select nope from t
select t.nope from t
select x.a from t
select * from nope
with recursive r as (select 1 as a union all select a + 1 from r) select * from r limit 3
with recursive r as (select 1 as a union all select 'x' from r) select * from r
with r as (insert into u values (1) returning a) select * from r
select * from t tablesample system (10)
select * from t for update skip locked nowait
select a from t where (a, b) in (select a, b from u)
select a from t where (a, b) > (1, 2)
select row(1, 2) = row(1, 'x')
select (t).a from t
select (t).* from t
select t from t
select row(1, 2)
select grouping(a) from t
select a, b, grouping(a, n) from t group by rollup (a, b)
select sum(a) filter (where b) from t
select sum(a) filter (where a > 1) over () from t
select array(select a from u)
select array(select a, b from u)
select a in (1, 'x') from t
select a between 'x' and 2 from t
select b like 1 from t
select a like 'x' from t
select b similar to 1 from t
select b ~ 1 from t
select b ~ '(' from t
select regexp_replace(b, '(', 'x') from t
select 1 / 0
select 1 % 0
select 9223372036854775807 + 1
select 2147483647::int + 1::int
select 32767::smallint + 1::smallint
select 1e400
select power(0, -1)
select sqrt(-1)
select ln(0)
select 'x' + 1
select 'x' || array[1]
select interval 'x'
select date 'x'
select timestamp '2024-13-01'
select time '25:00'
select current_setting('nope')
select set_config('nope', 'x', false)
select pg_sleep('x')
select nextval('nope')
select 'nope'::regclass
select 'nope'::regtype
select 1::regclass
select md5(1)
select encode(b, 'hex') from t
select decode(b, 'nope') from t
select length(1)
select position(1 in b) from t
select overlay(b placing 1 from 1) from t
select trim(1 from b) from t
select split_part(b, ',', 0) from t
select repeat(b, 'x') from t
select make_date(1, 2)
select make_date(2024, 13, 1)
select age(b) from t
select array_length(a, 1) from t
select array_append(arr, 'x') from t
select array_position(a, 1) from t
select cardinality(a) from t
select arr[1:2] from t
select arr && 1 from t
select arr @> 'x' from t
select xmlelement(name x)
select * from json_each('{}')
select stddev(b) from t
select corr(a, b) from t
select bool_and(a) from t
select bit_and(b) from t
select mode() within group (order by a) from t
select a collate "nope" from t
select b at time zone 1 from t
select ts at time zone 'nope' from t
insert into t (a) values ('x')
insert into t (a) select b from u
insert into t (a, b) values (1)
insert into t values (2, 'x', 1e20)
insert into t (nope) values (1)
update t set a = b
update t set a = (select a, b from u)
update t set (a, b) = (select a from u)
update t set nope = 1
update t set a = max(a)
update t set a = sum(a) over ()
delete from t where b
delete from t where max(a) = 1
delete from t using u where t.a = u.b
merge into t using u on t.a = u.a when matched then update set a = u.b
create table v as select row(1, 2)
create table v (a int default b)
create table v (a int default (select 1))
create table v (a int check (b > 1))
create table v (a int generated always as (a + 1) stored)
create view v as select nope from t
create view v as select 1, 1
create index on t ((a + b))
alter table t add column z int default nope()
alter table t alter a type date using b
explain select nope from t
explain (format xml) select 1
execute nope
prepare p as select $1 + 'x'
declare c cursor for select 1
values (1, 2), (3)
values (1), ('x'), (true)
select 1 where 'x'
select * from (select 1) as x(a, b)
select * from t as x(a, b, c, d, e, f, g, h, i, j, k, l, m)
select distinct on (b) a from t order by a
select a from t order by nope
select a as x, b as x from t order by x
select * from t where a = (select a from u)
select (select a from u)
select count(*) over (partition by nope) from t
select count(*) from t group by sum(a)
select count(*) from t group by 5
select nth_value(a, 'x') over () from t
select first_value(a) from t
select ctid from t
select array[array[1], array[1, 2]]
select '{1,x}'::int[]
select any(arr) from t
select * from t where a = all (select b from u)
select * from t where a > any (select d from t)
select * from t where not exists (select 1 from u where u.a > t.a limit 1)
select * from t where a not in (select u.a from u where u.b > t.b)
select t.a, x.m from t left join lateral (select max(a) m from u where u.a <= t.a) x on true
select sum((select max(a) from u where u.a = t.a)) from t
select a from t where a = (select max(v.a) from u v where v.a = t.a having count(*) > 1)
select a, rank() over (order by (select max(a) from u where u.a = t.a)) from t
select case when exists (select 1 from u where u.a = t.a) then 1 else (select 2 from u where u.a > t.a limit 1) end from t
select * from t where a in (select u.a from u where u.b = t.b union select 1)
select * from u where b = (select string_agg(b, ',' order by a) from t where t.a = u.a)
select u.a, (select array_agg(t.b) from t where t.a > u.a) from u
select (select (select t.a + u.a) from u limit 1) from t
select * from t, (select t.a) x
select * from t join lateral (select t.a as q union all select u.a from u where u.a = t.a) x on true
