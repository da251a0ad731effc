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
select (a > 1 and b > 1) and true from t group by (a > 1 and b > 1)
select true and (a > 1 and b > 1) from t group by (a > 1 and b > 1)
select (a > 1 or b > 1) or s is null from t group by (a > 1 or b > 1), s
select s is null or (a > 1 or b > 1) from t group by (a > 1 or b > 1), s
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
select exists (select 1 from p where p.pk = t.a), not exists (select * from p) from t
select (select name from p where pk = t.a), (select max(price) from p), (select 1) as one from t
select (select pk, name from p) from t
select (select price from p where p.pk = t.id) + 1 from t
select (select 'x'), (select null), (select 1.50) from t
select a from t where a in (select pk from p)
select a from t where a not in (select pk from p where p.pk <> t.id)
select a from t where s in (select pk from p)
select a from t where a in (select pk, name from p)
select a from t where (a, s) in (select pk, name from p)
select a from t where (a, s) in (select pk from p)
select a from t where (a, s) not in (select name, pk from p)
select a from t where row(a, b) in (select pk, pk from p)
select a from t where a = any (select pk from p), b
select a from t where a > all (select pk from p where name = s)
select a from t where a < some (select price from p)
select a from t where s like any (select name from p)
select a from t where a + any (select pk from p)
select a from t where a = any (select pk, name from p)
select a from t where '5' in (select pk from p)
select a from t where 'x' in (select pk from p)
select a from t where d in (select '2020-01-01' from p)
select a from t where exists (select 1 from p where nothing = t.a)
select a from t where exists (select 1 from p where t.nothing = pk)
select a from t where exists (select 1 from p where u.a = pk)
select a from t x where exists (select 1 from p where t.a = pk)
select a from t x where exists (select 1 from p x where x.a = pk)
select a from t where exists (select 1 from p where name = s and price > n)
select a from t where exists (select a from p) and exists (select b from p where exists (select c from p))
select count(*) from t where a = (select pk from p limit 1)
select count(*) from t where a = (select pk from p order by price desc limit 1 offset 1)
select a, count(*) from t group by a having count(*) > (select count(*) from p where pk = t.a)
select a, count(*) from t group by a having count(*) > (select count(*) from p where pk = t.b)
select a, (select name from p where pk = t.a) from t group by a
select a, (select name from p where pk = t.b) from t group by a
select a + 1, (select name from p where pk = a + 1) from t group by a + 1
select (select name from p where pk = t.a), count(*) from t group by 1
select sum((select price from p where pk = t.a)) from t
select a from t order by (select price from p where pk = t.a), b
select a from t where a in (with q as (select pk from p) select * from q)
with q as (select * from p) select a from t where a in (select pk from q where q.name = t.s) and b in (select pk from q)
select a from t where case when exists (select 1 from p) then a > 1 else o end
select a from t join p on a = pk and exists (select 1 from p q where q.pk = t.a)
select a from t where a = (select x.m from (select max(pk) as m from p where name = t.s) x)
select exists(select 1) is null, (select count(*) from p) is not distinct from 1, coalesce((select name from p), 'x') from t
select a from t where (select true)
select a from t where (select 1)
select (select a from p), (select t.a), (select x from (select t.b as x) y) from t
select a from t where a between (select min(pk) from p) and (select max(pk) from p)
select -(select pk from p), not (select o), (select c) || 'x', (select v) || (select s) from t
select distinct (select name from p where pk = t.a) from t
select distinct a from t order by (select name from p where pk = t.a)
select a from t limit (select 1)
select 1 + 1, 'a', null where 1 = 1
select count(*)
select count(*), max(1), sum(2.5) where false
select 1 having true
select 1 group by 1
select a
select t.a
select 1 order by a
select 1 as x order by x
select 1 limit 1 + 1 offset 0
select from t
select from t limit 1
select where true
select * from (select 1 as one) s
select * from t, (select 1 as one) s
select one + a from t cross join (select 1 as one) s where one = a
select distinct 1, 'x'
values (1)
values (1, 'a', null, 2.5)
values (1, 'a'), (2, 'b'), (null, null)
values (1), (2.5), (3000000000)
values (1), (2.5), (1e0::double precision)
values ('a'), (1)
values (1), ('2')
values (1), ('a')
values (1), (true)
values (null), (null)
values (1, 2), (3)
values (1), (2, 3)
values (1::numeric(10,2)), (2.5::numeric(10,2))
values (1::numeric(10,2)), (2.5::numeric(12,2))
values (1::numeric(10,2)), (2.5)
values (1::numeric(10,2)), (null)
values ('a'::varchar(3)), ('b'::varchar(3))
values ('a'::varchar(3)), ('b'::text)
values ('a'::char(3)), ('b'::char(4))
values (date '2020-01-01'), ('2021-01-01')
values (date '2020-01-01'), ('never')
values (date '2020-01-01'), (timestamp '2021-01-01 10:00')
values (a)
values (t.a)
values (count(*))
values (1 + 1, 2 * 3.5), (4, 5)
values (1), (2) order by 1
values (1), (2) order by column1 desc limit 1
values (1, 2), (3, 4) order by column1 + column2
values (1), (2) order by "*VALUES*".column1
values (1), (2) order by column2
values (1), (2) order by 2
values (1), (2) limit 1 offset 1
values (1), (2) limit column1
select * from (values (1, 'a'), (2, 'b')) v
select * from (values (1, 'a'), (2, 'b')) v (x, y) where x = 1
select * from (values (1, 'a'), (2, 'b')) v (x)
select * from (values (1, 'a'), (2, 'b')) v (x, y, z)
select column1 + 1 from (values (1), (2)) v
select v.column2 from (values (1, 2.5)) as v order by column1
select * from t, (values (1), (2)) v (x) where t.a = v.x
select * from t, (values (t.a)) v (x)
select * from t join (values (1, 'a'), (2, 'b')) v (id, w) using (id)
with w as (values (1, 'a')) select * from w
with w (x, y) as (values (1, 'a'), (2, 'b')) select y, x from w order by x
with w (x) as (values (1), (2)) values (3), (4)
select x from (values (1), (2.5), (null)) v (x) group by x having count(*) > 1
table t
table t order by a limit 1
table t order by a + b
table nowhere
table public.t
with w as (select 1 as x) table w
table t union all table t
select a from t union select b from t
select a from t union all select n from t
select a, s from t union select b, v from t
select n from t union select n from t
select n from t union all select m from t
select v from t union all select v from t
select v from t union all select c from t
select c from t intersect select c from t
select a from t except select k from t
select a from t intersect all select b from t
select a from t except all select f from t
select a from t union distinct select a from t
select 1 union select 2
select 1 union select 2.5
select 1 union select 2.5 union select 1e0::real
select 'a' union select 'b'
select 'a' union select 1
select '1' union select 1
select 1 union select '1'
select 1 union select 'a'
select null union select null
select null union select 1
select null union all select null union all select 1
select 1 union all select null union all select 2.5
select 'a' as x, '1', null union all select 'b', 2, date '2020-01-01'
select 'a', 'a' union all select 'b', 'c'
select '1', '1' union all select 2, 'x'
select 'a' union select s from t
select 'a' from t order by 1
(select 'a' from t order by 1) union select 'b'
(select '1' from t order by 1) union select 2
(select '1' from t limit 1) union select 2
select distinct '1' union select 2
select '1' group by 1 union select 2
values ('1') union select 2
select 2 union values ('1')
values (1) union values (2.5)
values (null) union select 1
(values ('1'), ('2')) union all select 'x'
select a from t union select a, b from t
select a, b from t intersect select a from t
select a from t except select s from t
select a from t union select o from t
select a, s, d from t union select b, v, ts from t
select d from t union all select '2020-01-01'
select a from t union select b from t order by a
select a from t union select b from t order by b
select a from t union select b from t order by 1
select a from t union select b from t order by 2
select a from t union select b from t order by a + 1
select a from t union select b from t order by t.a
select a from t union select b from t order by nothing
select a from t union select b from t order by count(*)
select a as x from t union select b as y from t order by x desc nulls first
select a as x from t union select b as y from t order by y
select a as x, b as x from t union select 1, 2 order by x
select a + 1 from t union all select b from t order by 1
select a from t union select b from t limit 1
select a from t union select b from t limit a
select a from t union select b from t limit 1 offset 2
(select a from t order by b limit 3) union all (select b from t order by a limit 2)
(select a from t union select b from t) intersect select k from t
select a from t union select b from t intersect select n from t
select a from t union all (select b from t except select k from t) order by a
((select 1)) union ((select 2.5)) union all (select 3)
select a from t union select b from t union select n from t
select a from t union all select b from t union all select f from t order by 1
select a from t union all select b from t union select k from t
select a from t union select b from t union all select k from t
select a from t except select b from t except all select k from t
(select id from t limit 3) order by a
(select id from t order by a) limit 3
(select id from t order by a limit 3) order by id
(select id from t limit 3) limit 2
(select id from t limit 3) offset 2
(select id from t offset 3) offset 2
(select a from t union select b from t) order by 1
((select a from t) order by 1) limit 2
with w as (select 1 as x) (select x from w)
with w as (select 1 as x) (with w as (select 2) select x from w)
with w as (select a from t union select b from t) select * from w order by a
with w (x) as (select a from t union all select b from t) select x, count(*) from w group by x
with w as (select 1 as x) select x from w union all select x + 1 from w
with w as (select 1 as x) (select x from w order by 1) union all select 2 order by x
select * from (select a, s from t union all select b, v from t) u where a > 1
select u.a, p.name from (select a from t intersect select k from t) u join p on p.pk = u.a
select * from (select a from t union select b from t) u (x) order by x
select * from (select a, b from t union select 1, 2) u (x, y, z)
select a from t union select a from nowhere
select nothing from t union select a from t
select count(*), a from t group by a union all select 1, 2
select a, count(*) from t union all select 1, 2
select union select
select from t intersect select from t
select * from t union all select * from t order by id
select pk from p union all select id from t
select name, price from p union select s, n from t
select 1::smallint union select 2::bigint
select 1::real union select 2::numeric
select interval '1 day' union select '2 days'
select true union select 'false'
select true union select 'maybe'
select a from t union select b from t for update
select row_number() over () from t
select row_number() from t
select row_number(*) over () from t
select row_number(a) over () from t
select rank() over (order by a), dense_rank() over (order by a desc nulls last), percent_rank() over (partition by s order by a), cume_dist() over w, ntile(4) over w from t window w as (order by a)
select ntile('4') over (), ntile(b) over () from t
select ntile(k) over () from t
select lag(a) over (order by id), lead(n, 2) over (order by id), lag(s, 1, 'x') over (order by id), lead(a, 1, 2.5) over (order by id), lag(c, 1, v) over (), lag(v,1,'x') over () from t
select lag(a, 1, s) over () from t
select lag('x') over () from t
select lag('x', 1, null) over () from t
select lag(c) over (), lag(n,1,0) over (), lag(n, 1, n) over (), first_value(c) over (), nth_value(n, 2) over (), last_value(v) over () from t
select first_value('x') over () from t
select nth_value(a, b) over () from t
select sum(a) over (), sum(b) over (), avg(n) over (), count(*) over (), count(a) over (), min(c) over (), max(d) over (), sum(f) over () from t
select sum(distinct a) over () from t
select sum(a order by b) over () from t
select count() over () from t
select sum(a) filter (where a > 1) over () from t
select row_number() filter (where a > 1) over () from t
select lag(distinct a) over () from t
select lag(a order by b) over () from t
select upper(s) over () from t
select upper(s) filter (where o) over () from t
select nosuch(a) over () from t
select sum(a) over w from t
select sum(a) over (w) from t
select sum(a) over (w order by a) from t window w as (order by b)
select sum(a) over (w partition by a) from t window w as (order by b)
select sum(a) over (w order by a) from t window w as (partition by b)
select sum(a) over (w) from t window w as (order by b rows 1 preceding)
select sum(a) over w from t window w as (order by b rows 1 preceding)
select sum(a) over (w rows 1 preceding) from t window w as (order by b)
select sum(a) over (w rows 1 preceding) from t window w as (order by b rows 1 preceding)
select sum(a) over w2 from t window w as (partition by b), w2 as (w order by a)
select sum(a) over w2 from t window w2 as (w order by a), w as (partition by b)
select sum(a) over w from t window w as (partition by b), w as (order by a)
select sum(a) over w2 from t window w as (order by b rows 1 preceding), w2 as (w)
select sum(a) over w2 from t window w as (order by b rows 1 preceding), w2 as (w order by a)
select a from t where row_number() over () > 1
select a from t where sum(a) over () > 1
select a from t group by a, row_number() over ()
select row_number() over () from t group by 1
select a from t group by a having row_number() over () > 1
select * from t join t x on row_number() over () = x.a
select a from t order by row_number() over ()
select a from t limit row_number() over ()
select a from t limit sum(a) over ()
select sum(row_number() over ()) from t
select sum(sum(a) over ()) from t
select sum(sum(a)) over () from t
select sum(sum(sum(a))) over () from t
select sum(sum(a) over ()) over () from t
select sum(a) filter (where row_number() over () > 1) from t
select sum(a) filter (where row_number() over () > 1) over () from t
select sum(a) filter (where sum(b) > 1) over () from t
select rank() over (order by count(*)) from t
select rank() over (order by count(*)), a from t group by a
select rank() over (partition by a order by count(*)), sum(sum(b)) over (order by a) from t group by a
select rank() over (order by b) from t group by a
select sum(b) over (order by a) from t group by a
select sum(a) over (order by a), b from t group by a
select rank() over (order by rank() over ()) from t
select rank() over (partition by rank() over ()) from t
select sum(a) over (order by a rows rank() over () preceding) from t
select sum(a) over (order by a rows count(*) preceding) from t
select sum(a) over (order by a rows a preceding) from t
select sum(a) over (rows id preceding) from t
select sum(a) over (order by a rows 1.5 preceding), sum(a) over (rows '2' preceding) from t
select sum(a) over (order by a rows o preceding) from t
select sum(a) over (order by a rows 'x' preceding) from t
select sum(a) over (order by a rows true preceding) from t
select sum(a) over (order by a rows date '2020-01-01' preceding) from t
select sum(a) over (rows -1 preceding) from t
select sum(a) over (rows null preceding) from t
select sum(a) over (range 1 preceding) from t
select sum(a) over (order by a, b range 1 preceding) from t
select sum(a) over (order by s range 1 preceding) from t
select sum(a) over (order by s range 'x' preceding) from t
select sum(a) over (order by a range 1 preceding), sum(a) over (order by b range 1 preceding), sum(a) over (order by k range 1 preceding) from t
select sum(a) over (order by a range 1.5 preceding) from t
select sum(a) over (order by n range 1 preceding), sum(a) over (order by f range 1 preceding), sum(a) over (order by r range 1.5 preceding) from t
select sum(a) over (order by d range '1 day' preceding), sum(a) over (order by ts range interval '1 month' preceding) from t
select sum(a) over (order by d range 1 preceding) from t
select sum(a) over (order by a range '1' preceding), sum(a) over (order by n range '1.5' preceding) from t
select sum(a) over (order by a range 'x' preceding) from t
select sum(a) over (order by d range 'x' preceding) from t
select sum(a) over (order by o range true preceding) from t
select sum(a) over (order by c range 1 preceding) from t
select sum(a) over (order by a range b preceding) from t
select sum(a) over (order by a range 3000000000 preceding) from t
select sum(a) over (order by n range f preceding) from t
select sum(a) over (order by n range 1e0::float8 preceding) from t
select sum(a) over (groups 1 preceding) from t
select sum(a) over (order by a groups 1 preceding) from t
select sum(a) over (order by a, b groups between 1 preceding and 1 following exclude ties) from t
select sum(a) over (range current row) from t
select sum(a) over (range between current row and unbounded following exclude group) from t
select sum(a) over (order by 1) from t
select sum(a) over (order by 'x') from t
select sum(a) over (partition by 1) from t
select sum(a) over (partition by 'x') from t
select sum(a) over (partition by null) from t
select sum(a) over (order by 99) from t
select a as z, sum(b) over (order by z) from t
select a as z, sum(b) over (partition by z) from t
select sum(a) over (order by a using <) from t
select sum(nosuch) over () from t
select sum(a) over (order by nosuch) from t
select sum(a) over (partition by nosuch) from t
select sum(a) over w, nosuch from t
select nosuch from t window w as (order by nosuch2)
select a from t window w as (order by nosuch2)
select a from t window w as (order by row_number() over ())
select a from t window w as (order by count(*))
select a from t window w as (order by a rows a preceding)
select a, count(*) over () from t order by count(*) over (), sum(b) over (partition by a)
select distinct count(*) over () from t order by sum(a) over ()
select distinct count(*) over () from t order by count(*) over ()
select count(*) over () + 1, case when row_number() over () > 1 then 'x' end, coalesce(lag(a) over (), 0) from t
select sum(a) over () from t group by a
select row_number() over (), count(*) from t
select a, row_number() over () from t having count(*) > 1
select row_number() over () x from t order by x
select (row_number() over ())::text from t
select x from (select row_number() over (order by a) as x, a from t) q where x < 3
select row_number() over ()
select count(*) over (), lag(1) over ()
select string_agg(s, ',') over (order by a) from t
select percentile_cont(0.5) within group (order by a) over () from t
select rank(1) within group (order by a) over () from t
select mode() over () from t
select pg_catalog.rank() over (order by a) from t
select abs(a) filter (where o) from t
select row_number() over (order by sum(a)) + sum(a) from t
select sum(a + b) over (order by n + m) from t group by a + b, n, m
select sum(f) over (order by f rows 2 preceding), sum(r) over (), avg(f) over (), avg(r) over () from t
select min(o) over () from t
select sum(s) over () from t
select max(s) over (partition by s order by s), max(v) over () from t
select first_value(a) over (order by a rows between 1 following and 2 following exclude current row) from t
select lag(a, '1') over (), lag(a, 1.5) over () from t
select lag(a, k) over () from t
select lag(a, b) over () from t
select lag(a, null, null) over () from t
select nth_value(s, null) over () from t
select sum(a) over w from t window w as (nosuch)
select sum(a) over (nosuch order by a) from t
select sum(a) over (nosuch partition by nosuch2) from t
select sum(nosuch) over nosuch from t
select sum(a) over w from t where nosuch window w as ()
select sum(a) over w, sum(b) over (w order by a) from t window w as ()
select sum(a) over w, sum(b) over (w rows 1 preceding) from t window w as ()
select a from t group by a order by rank() over (order by b)
select x.a, rank() over (order by x.a) from t x order by rank() over (order by x.a), x.b
select sum(1) over (order by t.a range between '-1' preceding and 2 following) from t
select sum(a) over (order by null) from t
select sum(a) over (order by null range 1 preceding) from t
select sum(a) over (order by '1' range 1 preceding) from t
select sum(a) over (order by 1 range 1 preceding) from t
select sum(a) over (order by d, a range '1 day' preceding) from t
select sum(a) over (order by d range between '1 day' preceding and d following) from t
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
select c + 1 from t
select max(c + c) from t
values ((select 1))
values (1), (2) order by (select 1)
values (1) order by row_number() over ()
select sum((select price from p where pk = t.a)) filter (where a < 10) from t
with c as (select a, count(*) from t group by a) select * from c x join c y using (a)
with c as materialized (select a as p, n from t) select p, n from c
with c as (select a from t limit 3) select x.a, y.a from c x, c y
with c as (select 'x' as s, null as n) select x.s, y.n from c x, c y
with c as (select a from t group by a), d as (select c.a from c, c e) select d.a from d, d f
with c as (select a from t group by a) select x.b from c x, c y
with c as (select a from t group by a), c as (select 1) select * from c
select x.* from t, lateral (select t.a as q, t.n * 2 as w) x
select x.q from t cross join lateral (select p.name as q from p where p.pk = t.a order by p.pk limit 1) x
select x.q from t left join lateral (select count(*) as q from p where p.pk = t.a) x on true
select x.q from t left join lateral (select p.pk as q from p where p.pk = t.a) x on x.q = t.k
select x.q from t right join lateral (select t.a as q) x on true
select x.q from t full join lateral (select t.a as q) x on true
select x.q from t right join lateral (select 1 as q) x on true
select x.q from t, (select t.a as q) x
select x.q from lateral (select t.a as q) x, t
select x.q from t, lateral (select u.a as q) x
select x.q from t, p, lateral (select a + pk as q) x
select x.q from t, t u, lateral (select a as q) x
select a from t, lateral (select 1 as a) x
select x.q from t, lateral (select nope as q) x
select x.q from t, lateral (select t.nope as q) x
select x.q from t, (p join lateral (select t.a as q, p.pk) x on x.pk = p.pk)
select x.q from t, (p right join lateral (select t.a as q) x on true)
select x.q from t u, lateral (select t.a as q) x
select 1 from t, lateral (select a from p) t
select x.column1 from t, lateral (values (t.a), (t.k)) x
select x.q from t, lateral (select t.a as q union select t.b) x
select x.q from t, lateral (select t.a) x (q, r)
select lateral from t
select * from generate_series(1, 3)
select * from generate_series(1, 3) g
select g, g.g from generate_series(1, 3::bigint) g
select * from generate_series(1, 3.5) with ordinality
select * from generate_series(timestamp '2020-01-01', '2020-01-03', '1 day') as d (day)
select * from generate_series(timestamptz '2020-01-01', '2020-01-03', '1 day') with ordinality as d (day, n)
select * from generate_series(1, 3) g (x, y)
select * from generate_series(1, 3) with ordinality g (x, y, z)
select * from generate_series('a', 3)
select * from generate_series(1, 3, 'x')
select * from generate_series(true, false)
select * from generate_series(date '2020-01-01', date '2020-01-03', interval '1 day')
select generate_series.generate_series from generate_series(1, 3)
select nope.x from generate_series(1, 3) g (x)
select * from unnest(array[1, 2])
select * from unnest(array[1, 2.5, null]) u
select * from unnest(array['a', null], array[true]) u
select * from unnest(array['a', null], array[true]) with ordinality u (x)
select * from unnest(array[1, 'x'])
select * from unnest(array[1, true])
select x from t, unnest(array[t.a, t.b]) u (x)
select * from unnest()
select * from lower('A')
select * from lower('A') l
select * from lower('A') with ordinality l (x, n)
select * from nope(1)
select * from count(1)
select * from sum(3) s
select * from upper(t.s) u, t
select u, t.a from t, upper(t.s) u
select u from t left join upper(t.s) u on true
select u from t right join upper(t.s) u on true
select g from generate_series(1, 3) g, generate_series(1, 3) g
select distinct on (a) a, b from t order by a, b desc
select distinct on (a, b) s from t order by b, a, c
select distinct on (b, a) s from t order by a
select distinct on (s) a from t order by a
select distinct on (a, b) a from t order by a, c, b
select distinct on (1) a, b from t order by x
select distinct on (2) a, b as x from t order by x, a
select distinct on (3) a, b from t
select distinct on (x) a as x, b from t order by 1
select distinct on (a + 1) a from t order by a + 1, b
select distinct on (max(b)) a, max(b) from t group by a order by max(b), a
select distinct on (a) a, row_number() over (order by b) from t order by a, 2
select distinct on ('x') a from t
select distinct on (a, a) a from t order by a, a, b
select a from t order by a fetch first row only
select a from t order by a fetch first 3 rows with ties
select a from t order by a offset 2 rows fetch next 3 rows with ties
select a from t fetch first 3 rows with ties
select a from t union select pk from p order by 1 fetch first 3 rows with ties
values (1), (2) order by 1 fetch first 1 row with ties
select a from t where a between symmetric 1 and b
select a from t where a not between symmetric n and 'x'
select a from t where a between symmetric 1 and s
select a from t order by a using <, b using >
select a from t order by a using operator(pg_catalog.>) nulls last
select a = any (array[1, 2]) from t
select a = any (array[1, 2.5]), s <> all (array['x', 'y']) from t
select a = any ('{1,2}'), s = any ('{x,y}'), n > all ('{1.5,2}') from t
select a = any ('{1,x}') from t
select a = any ('{1,2}'::bigint[]), f = any ('{1,2}'::int[]), v = any ('{x}'::text[]) from t
select a = any (array[1, 2]::bigint[]), d = any (array['2024-01-01', '2024-01-02']::date[]) from t
select a = any (1) from t
select a = any (s) from t
select a + any (array[1]) from t
select a = any (array['x']) from t
select s like any (array['x%', '%y']), s not ilike all ('{x,y}') from t
select '1' = any (array[1, 2])
select 'a' = any ('{a,b}')
select a = any (null) from t
select a = any (array[b, k]) from t
select x.id, t.s from t join p as t2 (id, name, price) using (id) as x
select x.*, t.id from t join p as t2 (id, name, price) using (id) as x
select x.name from t join p as t2 (id, name, price) using (id) as x
select 1 from t join p as t2 (id, name, price) using (id) as t2
select * from t join p as t2 (id, name, price) using (id) as x
select * from v1
select v1.x, v1.total from v1 where total > 3
select public.v1.x from public.v1
select w.x, w.y from v1 as w (x, y)
select v1.x from v1 as w
select * from v1 as w (a, b, c, d)
select total from v1 group by x
select * from v2
select v2.a + v2.n from v2 join t using (a)
with t as (select 1 as zzz) select * from v2
select (select max(b) from v2 where v2.a = p.pk) from p
select pk from p where exists (select from v1 where x = pk)
select outer_name from v2, lateral (select 1) l
select * from v3 where label like 'x%'
select string_agg(s, ',' order by a desc, b nulls first) from t
select string_agg(v, ',' order by v), string_agg(distinct v, ',' order by v) from t
select string_agg(distinct s, ',' order by a) from t
select string_agg(distinct s, ',' order by s, a) from t
select array_agg(n order by a), array_agg(distinct v), array_agg(c), json_agg(d order by id) from t
select json_agg(distinct s::json) from t
select array_agg(a order by s::json) from t
select string_agg(s, ',' order by sum(a)) from t
select string_agg(s, ',' order by sum(a) over ()) from t
select sum(a order by b) filter (where a > 1) from t
select a from t where string_agg(s, ',' order by a) = 'x'
select length(s order by a) from t
select percentile_cont(0.5) within group (order by f) from t
select percentile_cont(0.5) within group (order by a), percentile_cont('0.5') within group (order by r) from t
select percentile_cont(array[0.5, 1]) within group (order by f), percentile_disc(array[0.5]) within group (order by d) from t
select percentile_disc(0.5) within group (order by v), mode() within group (order by n) from t
select percentile_cont(0.5) within group (order by s) from t
select percentile_cont(0.5) within group (order by f, a) from t
select percentile_cont(0.5) within group (order by f) over () from t
select sum() within group (order by a) from t
select abs(1) within group (order by a) from t
select rank(1) within group (order by a), dense_rank('x', 2) within group (order by s desc, a) from t
select percent_rank(1.5) within group (order by a), cume_dist(1) within group (order by b) from t
select rank('x') within group (order by a) from t
select mode() within group (order by s::json) from t
select mode() within group (order by sum(a)) from t
select regr_slope(f, a), corr(a, b), covar_pop(n, f), regr_count(a, a), bit_and(k), bit_xor(b), bool_or(o) from t
select array[a, b], array[a, n, 1.5], array[s, v], array[v, v], array[c], array[d, ts] from t
select array[array[a], array[b]], array[[1, 2], [3, 4]], array[]::text[], array[1, '2']::numeric(5, 2)[] from t
select array[], 1
select array[1, 'x']
select array[1, s] from t
select array[a, null], array[null], array['x'] from t
select array[1, array[2]]
select (array[a, b])[1], (array[s])[2], (array[[a]])[1][1], (array[a])[n] from t
select (array[a])['1'], (array[a])['x'] from t
select a[1] from t
select t.s[1] from t
select x[1], u.x[k], u.x from (select array[n, n] as x, k from t) u
select a = any (array[b, b + 1]), a <> all (array[k::bigint]) from t
select a = any (x) from (select a, array[k, k] as x from t) u
select s = any (x) from (select s, array[v] as x from t) u
select b'101', x'1f', B'1' || B'0', b'1' = b'1'
select b'12'
select x'g'
select distinct s::json from t
select distinct array[a], array[s] from t
select make_interval(days => a), make_interval(1, mins => 2), make_interval(a), make_date(day => 1, month => 2, year => a) from t
select make_interval(days => 1, days => 2)
select make_interval(days => 1, 2)
select make_interval(nope => 1), 1
select make_date(day => 'x', month => 2, year => 3)
select x[1:2], x[:k] from (select array[a] as x, k from t) u
select (a, b) = (1, 2), (a, s) <> (b, 'x'), (a, b) < (b, a), row(a, s, d) >= row(1, 'x', '2020-01-01') from t
select (a, b) in ((1, 2), (3, 4)), (a, s) not in ((1, 'x')) from t
select (a, b) is null, (a, b) is not null, (a, b) is distinct from (1, 2), row(a) is not distinct from row(b) from t
select (a, b) = (1, 2, 3) from t
select (a, b) < (1, s) from t
select a from t where (a, b) in ((1, 2), (3, 4, 5))
with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select n from r
with recursive r as (select 'a' as s, 1.5 as m union all select s || 'b', m * 2 from r) select * from r
with recursive r (n) as (select 1 union all select n + 1.0 from r) select n from r
with recursive r (n) as (select 'a'::varchar(3) union all select n || 'b' from r) select n from r
with recursive r (n) as (select 1 union all select n, n from r) select n from r
with recursive r (n) as (select 1 from r union all select 2) select n from r
with recursive r (n) as (select n from r) select n from r
with recursive r (n) as (select 1 except select n from r) select n from r
with recursive r (n) as (select 1 union all select x.n from r x, r y) select n from r
with recursive r (n) as (select 1 union all select a from t where a in (select n from r)) select n from r
with recursive r (n) as (select 1 union all select a from t left join r on a = n) select n from r
with recursive r (n) as (select 1 union all select a from r right join t on a = n) select n from r
with recursive r (n) as (select 1 union all select a from r left join t on a = n) select n from r
with recursive r (n) as (select 1 union all (select a from t except select n from r)) select n from r
with recursive r (n) as (select 1 union all (select n from r except select a from t)) select n from r
with recursive r (n) as (select 1 union all (select n from r except all select a from t)) select n from r
with recursive r (n) as (select 1 union all (select n from r intersect all select a from t)) select n from r
with recursive r (n) as (select 1 union all (select n from r intersect select a from t)) select n from r
with recursive r (n) as (select 1 union all select max(n) from r) select n from r
with recursive r (n) as (select 1 union all select n from r group by n) select n from r
with recursive r (n) as (select 1 union all select max(n) from (select n from r) s) select n from r
with recursive r (n, m) as (select 1 union all select n + 1 from r) select n from r
with recursive r (n) as (select 1 union all select n + 1 from r order by 1) select n from r
with recursive r (n) as (select 1 union all select n + 1 from r limit 3) select n from r
with recursive r (n) as (select 1 union all select n + 1 from r offset 3) select n from r
with recursive c as (select a from t) select * from c
with recursive c as (select a from t union select k from t order by 1) select * from c
with recursive r (n) as (select null union all select n from r) select n from r
with recursive r (n) as (select 1 union all (with q as (select * from r) select n + 1 from q)) select n from r
with recursive r (n) as (select 1 union all select n + 1 from (select n from r) s) select n from r
with recursive r (n) as (select 1 union all select row_number() over () from r) select n from r
select * from (values ((select max(a) from t), 1)) v (x, y)
values ((select max(b) from t)), (2)
select case when a > 1 then (select s from t) end from t
select rank() over (order by a) + 1, count(*) over () - 1 from t
select generate_series(1, 3), generate_series(1, b) from t
select unnest(string_to_array(s, ',')) from t
select * from rows from (generate_series(1, 3), string_to_table('a', ',')) with ordinality
select * from rows from (generate_series(1, 3), generate_series(1, 2)) as r (x)
select x.*, g from t x, generate_series(1, x.a) g
select * from t, string_to_table(s, ',')
select a, generate_series(1, 3) g from t order by g, b
select (select max(t.a) from p where pk = 1) from t
select (select max(t.a) + count(*) from p) from t group by t.b
select (select pk from p where pk = max(t.a)) from t
select a from t group by a having (select sum(t.b) > 3 from p)
select (select t.b from p where pk = max(t.a)) from t
select 1 from t where (select max(t.a) from p) > 1
select t.a from t join p on (select max(t.a) from p) > 1
select 1 from t group by (select max(t.a) from p)
select max((select max(t.a) from p)) from t
select (select count(*) from p limit max(t.a)) from t
select (select max(t.a) filter (where pk > 1) from p) from t
select (select max(t.a + pk) from p) from t
select 1 from t, lateral (select max(t.a) from p) s
select a from t limit (select 'x')
select a from t limit (select 3) offset (select 1.5)
select a from t limit (select a, b from t)
select a from t limit (select max(t.a) from p)
select array(select a from t), array(select s from t order by a)
select array(select a, b from t)
select array(select array[a, 1] from t)
select (array[[1,2],[3,4]])[1:2][2], (array[1,2])[:1]
select (array[1])[1:1][1:1][1:1][1:1][1:1][1:1][1:1]
select concat(variadic array[1, 2]), concat_ws(',', variadic array['a']), format('%s', variadic array[1])
select num_nulls(variadic array[1, null]), num_nonnulls(variadic '{}'::text[])
select concat(variadic a) from t
select lower(variadic array['a'])
select count(*) from t tablesample bernoulli (10) repeatable (3)
select a from t tablesample system (a)
select a from t tablesample heap (10)
select a from t tablesample system (10, 20)
select a from t tablesample system (date '2024-01-01')
select a from t tablesample system (10) repeatable ('x')
select x from v1 tablesample system (10)
select a from (select 1 as a) s tablesample system (10)
with w as (select 1 as a) select a from w tablesample system (10)
select 1 from t where 1 = (select 1 from t x having bool_and((select t.a = 1 from t y)))
select 1 from t where 1 = (select 1 from t x having bool_and((select exists (select t.a) from t y)))
select 1 from t where 1 = (select 1 from t x having bool_and((select exists (select 1 from (select t.a) z) from t y)))
select (select max((select exists (select t.a) from t y limit 1)::integer) from t x) from t
select count(1 in (select a from t x)), count(t.a in (select x.a from t x)) from t
select rank() over (order by a) in (select a from t x) from t
select 65::"char", 'ab'::"char", s::"char" from t
select 1::"integer"
select 1::"int4", 1::int4, 1::dec, 'a'::nchar, 'a'::national char varying, 1::float(3), 1::float, 'x'::name, 'x'::pg_catalog.bpchar
select 1::"float"
select (a, s) = (select a, s from t) from t
select row(a, s) < (select a, s from t) from t
select (select a, s from t) = (a, s) from t
select row() is distinct from row() from t
select row(a) is distinct from row() from t
select * from t join (select 'x'::text as a) u using (a)
select * from t natural left join (select 'x'::text as a) u
select * from (select 'x'::text as a, 'y'::json as j) t join (select 1 as a, '1'::json as j) u using (j, a)
select * from (select 'x'::text as a) t join (select 1 as a) u using (a, nothing)
