select * from t
select t.* from t
select id, a from t
select a as x, b y, n "Z z" from t
select x.a from t as x
select x.a from t x (q, a)
select q from t x (q, a)
select nothing from t
select t.nothing from t
select u.a from t
select t.a from t x
select public.t.a from t
select a from nowhere
select a from public.nowhere
select * from t x (a,b,c,d,e,f,g,h,i,j,k,l,m,n,o)
select *
select 1
select 1, 2.5, 'a', null, true, 3000000000, 99999999999999999999, 1e3
select -5, - 2.5, +3
select 1 + 1, 1 + 2.5, 1 + 3000000000, 2 * 1.5
select a + b, a * n, n + n, n * n, n / n, a / b, f + a, r + r, f + n, a % b, n % 2 from t
select k + k, k + a, k * b, k / k, -k, - b, -n, -f from t
select a || s from t
select s || s, v || v, c || c, s || 'x', 'x' || 'y' from t
select s || a, a || 'x' from t
select d + 1, d - 1, d - d, d + a, ts - ts, ts + '1 day', d + interval '1 day' from t
select d + d from t
select s + 1 from t
select 'a' + 'b'
select - 'a'
select o + 1 from t
select a = 1, a <> 1, a != 1, a < b, a <= n, a > f, a >= k from t
select a = 'x' from t
select a = '5', d = '2020-01-01', n = '1.5', s = 'x', s = 5 from t
select s = v, s = c, v = c, c = 'x', v = 'y' from t
select a = s from t
select a and o from t
select o and o or not o from t
select not a from t
select 'x' and true
select a is null, a is not null, o is true, o is not false, o is unknown from t
select a is true from t
select a is distinct from b, s is not distinct from 'x' from t
select a is distinct from s from t
select a between 1 and 5, d between '2020-01-01' and '2021-01-01', n not between 1 and 2.5 from t
select a between 'x' and 5 from t
select a in (1, 2, 3), s in ('a', 'b'), n in (1, 2.5), a not in (1, 2) from t
select a in (1, 2.5, 3000000000), a in (b, 1), a in (1) from t
select a in ('1', 2), a in (1, 'x') from t
select a in (1, s) from t
select s like 'a%', s not like '%b', s ilike 'A%', c like 'x', v like s from t
select a like 'x' from t
select case when o then 1 else 2 end, case a when 1 then 'x' when 2 then 'y' end from t
select case when o then 1 else 2.5 end, case when o then a else s end from t
select case when a then 1 end from t
select case when o then n else n end, case when o then v else v end, case when o then v else 'x' end from t
select case when o then 'a' else 'b' end, case when o then null else null end from t
select case when o then a else b end as x, case when o then 1 else a end from t
select coalesce(a, 1), coalesce(a, b, n), coalesce(s, 'x'), coalesce(null, null), coalesce(a, f) from t
select coalesce(a, s) from t
select coalesce(o, d) from t
select greatest(a, b), least(n, 1), greatest(s, 'x'), greatest(1, 2.5) from t
select nullif(a, 1), nullif(s, 'x'), nullif(a, 2.5), nullif(n, n) from t
select nullif(a, s) from t
select cast(a as bigint), a::text, n::integer, s::integer, s::numeric(5,1), a::varchar(3), '5'::int, '1.5'::numeric(4,1) from t
select a::date from t
select o::date from t
select a::bool, o::int, d::timestamp, ts::date, f::numeric, b::int, k::text, c::text, v::char(3) from t
select 'x'::int
select '2020-13-01'::date
select '99999999999'::int
select 5::nothing
select date '2020-01-01', timestamp '2020-01-01 10:00', interval '1 day', numeric '5.5', int '5', bigint '7'
select interval '90' day, interval '1' year, interval '1-2' year to month, interval '1.5' second(1), interval(2) '1.555'
select d - interval '90' day, d + interval '1' year, '90'::interval day, cast('1:2' as interval minute to second) from t
select interval '1' hour + ts, (ts - ts)::interval day to second(3) from t
select interval 'x' day
select date 'x'
select int4(b), text(a), float8(n), date(ts), numeric(a) from t
select length(s), upper(s), lower(v), substring(s from 2), substring(s from 2 for 3), substring(s, 1, 2), position('a' in s) from t
select trim(s), trim(leading 'x' from s), trim(both from s), rtrim(s), ltrim(s, 'ab'), overlay(s placing 'x' from 2) from t
select length(a) from t
select upper(a) from t
select nothing(a) from t
select nothing()
select abs(a), abs(n), abs(f), abs('5'), round(n), round(n, 1), round(f), round(a), ceil(n), floor(f), sqrt(a), power(a, 2), mod(a, 2), sign(n) from t
select extract(year from d), extract(epoch from ts), date_part('year', d), date_trunc('month', ts) from t
select extract(year from a) from t
select extract(nothing from s) from t
select to_char('a', 'b')
select replace(s, 'a', 'b'), left(s, 2), right(s, 2), repeat(s, 3), reverse(s), strpos(s, 'x'), ascii(s), chr(a), md5(s), initcap(s) from t
select count(*), count(a), sum(a), sum(b), sum(n), sum(k), sum(f), sum(r), avg(a), avg(n), avg(f), min(a), max(s), min(d), max(n) from t
select count(distinct a), sum(distinct n), count(*) filter (where o), min(a) filter (where a > 5) from t
select count(*) filter (where a) from t
select sum(s) from t
select sum(*) from t
select count() from t
select sum(o) from t
select avg(d) from t
select max(o) from t
select sum(sum(a)) from t
select sum(a) from t where sum(a) > 1
select a from t where a
select a from t where s
select a from t where null
select a from t where 'true'
select a from t where a + 1
select a, count(*) from t group by a
select a, b, count(*) from t group by a
select id, a, b from t group by id
select id + a from t group by id
select t.s from t group by a
select a + 1, count(*) from t group by a + 1
select a + 1, count(*) from t group by a
select a + 1 as x, count(*) from t group by x
select a as s, count(*) from t group by s
select a as x, b as x from t group by x
select a, sum(b) as total from t group by 1
select a, sum(b) from t group by 2
select a from t group by 3
select a from t group by 'x'
select a from t group by 1.5
select a from t group by nothing
select a, count(*) from t
select count(*), a from t
select a from t having a > 1
select count(*) from t having count(*) > 1
select a, count(*) from t group by a having sum(b) > 5 and a > 1
select a, count(*) from t group by a having b > 1
select a from t group by a having s
select sum(a) + 1, sum(a) * 2, avg(n) / count(*) from t
select upper(s), count(*) from t group by upper(s)
select upper(s) || 'x', count(*) from t group by upper(s)
select lower(s), count(*) from t group by upper(s)
select a from t order by a
select a from t order by b
select a as b from t order by b
select a as x, b as x from t order by x
select a as x, a as x from t order by x
select a from t order by 1
select a from t order by 2
select a from t order by 0
select a from t order by 'x'
select a from t order by 1.5
select a from t order by a + b desc nulls last
select a as x from t order by x + 1
select a from t order by nothing
select a from t order by count(*)
select a, count(*) from t group by a order by count(*) desc, a
select a, count(*) from t group by a order by b
select a, count(*) as n from t group by a order by n
select distinct a from t
select distinct a from t order by a
select distinct a from t order by b
select distinct a + 1 from t order by a + 1
select distinct a, b from t order by b, 1
select a from t limit 5
select a from t limit 5 offset 2
select a from t limit all
select a from t limit null
select a from t limit 'x'
select a from t limit a
select a from t limit 1.5
select a from t limit s
select a from t limit true
select a from t offset 5
select a from t fetch first 3 rows only
select name, price * 2, price::int from p where pk = 5
select price, price * price, price / 2, sum(price), avg(price) from p group by price
select sum(price * (1 - 0.05)) as revenue from p where name like 'a%' and price between 1 and 10
select count(*) from p where price in (1, 2, 3) or name is null
select max(length(name)), min(price) from p
select 'x' as a, name from p group by name
select null as a, count(*) from p
select 1 from t group by a
select 1 as one from t order by one
select true and null, not null, null is null
select null + 1, null = null, null || 'x'
select 'a' = 'b', 'a' < 'b', 1 = 1.0
select 1::smallint + 1::smallint, 1::real + 1, 1::real * 2.5, 5 / 2, 5.0 / 2
select "A" from t
select "a" from t
select T.A from T
select * from t, p
select t.id, p.name from t, p where t.id = p.pk
select id, pk from t join p on id = pk
select * from p a join p b on a.pk = b.pk
select * from p a join p b using (pk)
select pk, a.name, b.name from p a join p b using (pk)
select name from p a join p b using (pk)
select * from p a left join p b using (pk, name)
select * from p a full join p b using (pk) where pk > 3
select pk, a.pk, b.pk from p a right join p b using (pk)
select * from p a natural join p b
select * from p natural join t
select * from t natural left join p
select a.* from p a cross join p b
select * from (p a join p b using (pk)) as j
select j.pk, name from (p a join p b using (pk)) as j
select j.pk, x from (p a join p b using (pk)) as j (pk, x)
select a.pk from (p a join p b using (pk)) as j
select a.pk from (p a join p b using (pk))
select * from (p a join p b using (pk)) as j (a, b, c, d, e, f)
select * from t, t
select * from t a, p a
select * from t join t on true
select * from t join p on t.id
select * from t join p on count(*) > 1
select * from t join p using (id)
select * from t join p using (nothing)
select * from p a join p b using (pk, pk)
select * from p a join p b on a.pk = b.pk join p c using (pk)
select * from p a join p b using (pk) join p c using (pk)
select pk from p a join p b using (pk), p c
select * from t a join (p b join p c on b.pk = c.pk) on a.id = c.pk
select * from t, p join t x on t.id = x.id
select * from t, p a join p b on a.pk = t.id
select x.id from t x join p on y.id = pk
select k.id, count(*) from t k join p on k.id = p.pk group by k.id
select p.name, sum(t.n) from t join p on t.id = p.pk group by p.pk
select p.name, t.s, sum(t.n) from t join p on t.id = p.pk group by p.pk
select u.k from (t u join p on u.id = p.pk) group by u.k order by u.k
select * from p a full join p b using (price)
select a from t join (select 1) x on true
select * from t x (i), p y (i) where x.i = y.i
select i from t x (i), p y (i)
select i from t x (i) join p y (i) using (i)
select distinct on (t.id) t.id from t join p on t.id = p.pk
select count(*) from t left join p on t.id = p.pk and p.name like 'a%'
select * from t join p on t.s = p.pk
select * from t x (q, b, b2) join p y (q) on x.b = y.q
select -2147483648, -2147483649, -9223372036854775808, -9223372036854775809, - 1.5 from t
select * from (select a, b from t) x
select x.a, b from (select a, b + 1 as b from t) x where x.a > 1 order by b
select * from (select a, b from t) as x (q) where q = 1
select * from (select a from t) x (q, r)
select * from (select a from t)
select * from (select a, a from t) x
select x.a from (select a, a from t) x
select * from (select count(*), sum(a) s from t group by o) x join p on x.count = p.pk
select * from (select 'x' as u, null as n, 1 as i) x
select u || 'y', n || 'z', i + 1 from (select 'x' as u, null as n, 1 as i) x
select * from t, (select t.a from p) x
select * from (select nothing from t) x
select * from (select a from t order by b limit 3) x order by a desc
select * from (select * from (select a as z from t) x) y where z > 0
select * from ((select a from t)) x
with w as (select a, b from t) select * from w
with w as (select a, b from t) select w.a, x.b from w, w x where w.a = x.a
with w (q) as (select a, b from t) select * from w
with w (q, r, s) as (select a, b from t) select * from w
with w as (select nothing from t) select 1
with w as (select 1 as one), v as (select one + 1 as two from w) select * from v, w
with v as (select one + 1 as two from w), w as (select 1 as one) select * from v
with w as (select 1), w as (select 2) select * from w
with t as (select 1 as one) select * from t
with t as (select 1 as one) select * from public.t
with t as (select a from t) select * from t
with w as (select 1 as one) select * from w as x (q) where q = 1
with w as (with w as (select 1 as one) select one + 1 as two from w) select * from w
with w as (select 1 as one) select * from (with w as (select 2 as two) select * from w) x, w
with w as (select 1 as one) select w.* from w x
select * from (select avg(a) as m from t) x, p where p.price > m
select * from (select a from t) t join (select a from t) u using (a)
select x.s from (select s from t union select name from p) x
select t.id from t, (select pk from p) t
select 1 from (select pk from p) t, t
select 1 from (select pk from p) x, (select id from t) x
select a, k, count(*) from t group by rollup (a, k)
select a, k, grouping(a, k) from t group by cube (a, k)
select a, k, grouping(b) from t group by cube (a, k)
select a, grouping(a) from t group by a
select grouping(a) from t
select grouping() from t group by a
select a + 1, grouping(a + 1) from t group by rollup (a + 1)
select grouping(a) from t group by rollup (a + 1)
select a from t where grouping(a) = 0 group by a
select a from t group by grouping(a)
select grouping(a) as g from t group by g
select a from t group by rollup (a) having grouping(a) = 1 order by grouping(a)
select id, a, count(*) from t group by rollup (id)
select id, a, count(*) from t group by grouping sets ((id), (id, k))
select id, a, count(*) from t group by id, rollup (k)
select b, a from t group by rollup (a)
select a, b from t group by grouping sets ((a), (b))
select a from t group by ()
select count(*) from t group by ()
select count(*) from t group by (), ()
select a, count(*) from t group by a, ()
select a, k from t group by (a, k)
select a, k from t group by rollup ((a, k), b)
select a as x, count(*) from t group by rollup (x)
select a, count(*) from t group by rollup (1)
select a, count(*) from t group by rollup (2)
select a, count(*) from t group by rollup (3)
select a from t group by cube (a, b, n, m, f, r, s, v, c, d, ts, o, k)
select count(*) from t group by cube (a, b, n, m, f, r), cube (s, v, c, d, ts, o, k)
select a, k, count(*) from t group by distinct rollup (a, k), rollup (a)
select sum(grouping(a)) from t group by rollup (a)
select a from t group by rollup (a) order by sum(b), a + 1
select a from t group by rollup (a) order by b
select distinct a, grouping(a) from t group by rollup (a) order by 2
select count(*) from t group by grouping sets (a, (b, k), rollup (s), cube (o), ())
select grouping(p.name), t.a from t join p on t.id = p.pk group by rollup (p.name, t.a)
