select x.id, y.id, rank() over (partition by x.k order by y.a), sum(y.n) over (partition by x.k order by y.a, y.id range unbounded preceding), lag(y.s) over (partition by x.k order by x.id, y.id) from t x join t y on x.k = y.a where x.id < 60 and y.id < 60
select x.id, y.id, count(*) over (partition by y.s order by x.d groups between 1 preceding and current row exclude ties) from t x left join t y on x.k = y.a and y.id < 100 where x.id < 300
select * from (select x.id as i, y.id as j, x.k as k, max(y.s) over (partition by x.k order by y.d range between '20 days' preceding and '20 days' following) as m from t x left join t y on x.k = y.a and y.id < 100 where x.id < 300) q where k = 3
select * from (select x.id as i, y.id as j, x.k as k, y.k as l, count(*) over (partition by x.k) as m from t x left join t y on x.k = y.a and y.id < 100 where x.id < 300) q where l > 3 and m > 10
with q as (select k, rank() over (order by sum(a)) as r from t group by k) select p.k, q.k, q.r from q join q p on q.r = p.r
select k, s, count(*), sum(count(*)) over (partition by k), min(min(s)) over (order by k), max(s) over (partition by k order by s) from t group by k, s
select o, s, first_value(s) over (partition by o order by s nulls first), lead(s, 1, s) over (partition by o order by s), lag(count(*), 1, 0::bigint) over (partition by o order by s) from t group by o, s
select id, m from (select id, sum(a) over (order by id rows 2 preceding) as m from t order by id limit 50) q where m > 0
select count(*), sum(r), max(r), min(r) from (select row_number() over (partition by k, o order by id) as r from t) q
select r, count(*) from (select rank() over (partition by k order by a) as r from t) q group by r having count(*) > 3
select distinct k, sum(a) over (partition by k), max(n) over (partition by k) from t order by k
select d, count(*) over (order by d range between unbounded preceding and '5 days' preceding) from (select distinct d from t where id < 800) q order by d nulls first
select id, sum(a) over w, sum(a) over (w rows 2 preceding), count(*) over (w range current row), sum(k) over v from t window w as (partition by k order by id), v as (partition by o)
select id, max(id) over (order by n range between 100 preceding and 100 following exclude current row), min(id) over (order by n desc range between 1 following and 200 following) from t
select id, max(f) over (order by f range between 'infinity' preceding and 0 following), count(*) over (order by f desc range between 0.0 preceding and 'infinity' following) from t
select id, row_number() over (order by id), rank() over (order by a), dense_rank() over (order by a) from t
select id, percent_rank() over (partition by k order by a), cume_dist() over (partition by k order by a) from t
select id, ntile(7) over (partition by k order by id), ntile(20000) over (order by id), ntile(null) over () from t
select id, rank() over (order by n desc), rank() over (order by n nulls first), rank() over (order by s, c desc) from t
select id, row_number() over (partition by o, s order by d desc nulls last, id) from t
select id, lag(a) over w, lead(a) over w, lag(a, 3) over w, lead(a, 2, -1) over w, lag(a, 0) over w from t window w as (partition by k order by id)
select id, lag(s, k) over w, lead(n, a) over w, lag(c, -2) over w, lag(d, 1, date '2000-01-01') over w from t window w as (order by id)
select id, lag(o, 2, true) over w, lag(f, 1, 0.5) over w, lag(a, null) over w, lead(s, 1, s) over w from t window w as (partition by c order by id)
select id, first_value(s) over w, last_value(c) over w, nth_value(n, 2) over w, nth_value(d, null) over w from t window w as (partition by k order by id rows between 3 preceding and 1 following)
select id, first_value(id) over w, last_value(id) over w, nth_value(id, 3) over w from t window w as (partition by a order by id rows between 2 following and 5 following)
select id, nth_value(id, 2) over (partition by k order by id rows between unbounded preceding and unbounded following exclude current row) from t where id < 900
select id, count(*) over (), count(n) over (), sum(a) over (), sum(id) over (), sum(n) over (), avg(n) over (), avg(a) over (), min(s) over (), max(c) over () from t
select id, sum(n) over (order by id), avg(n) over (order by id), min(n) over (order by id), max(f) over (order by id) from t
select id, sum(n) over (partition by k order by a), count(*) over (partition by k order by a), avg(k) over (partition by k order by a) from t
select id, sum(a) over (order by id rows 10 preceding), avg(a) over (order by id rows between 5 preceding and 5 following), min(a) over (order by id rows between 100 preceding and 50 preceding) from t
select id, max(s) over (order by id rows between 7 preceding and 3 following), min(c) over (order by id rows between current row and 4 following), max(d) over (order by id rows between 3 following and unbounded following) from t
select id, sum(a) over (order by a range between 2 preceding and 3 following), count(*) over (order by a desc range between 2 preceding and 3 following), count(*) over (order by a nulls first range between 2 preceding and current row) from t
select id, count(*) over (order by n range between 0.125 preceding and 1.995 following), count(*) over (order by n desc range between 10 following and 12.5 following) from t
select id, count(*) over (order by n range between 3.001 preceding and 0.999 preceding), count(*) over (order by n desc range between 3.001 preceding and 0.999 preceding) from t
select id, count(*) over (order by f range between 0.3 preceding and 1 following), count(*) over (order by f desc range 2.5 preceding) from t
select id, count(*) over (order by d range between '10 days' preceding and '36 hours' following), sum(a) over (order by d desc range between interval '3 days' preceding and interval '1 hour' preceding) from t
select id, count(*) over (order by d range between '1 day 12 hours' following and '3 days' following) from t
select id, count(*) over (order by a groups 1 preceding), sum(n) over (order by a, k groups between 1 following and 2 following), count(*) over (order by k groups between unbounded preceding and 1 preceding) from t
select id, sum(a) over (order by id rows between 3 preceding and 3 following exclude current row), sum(a) over (order by a rows between unbounded preceding and unbounded following exclude group), count(*) over (partition by k order by a rows between unbounded preceding and unbounded following exclude ties) from t where id < 900
select id, min(n) over (partition by k order by a, id rows between 5 preceding and 5 following exclude current row), max(n) over (partition by k order by a groups between 1 preceding and 1 following exclude group), max(s) over (partition by k order by a groups between 1 preceding and 1 following exclude ties) from t where id < 900
select id, sum(a) filter (where o) over (order by id rows 5 preceding), count(*) filter (where a > 0) over (partition by k), avg(n) filter (where a < 0) over (order by id), min(s) filter (where o is not true) over (partition by a) from t
select k, sum(sum(a)) over (order by k), rank() over (order by count(*) desc, k), sum(count(*)) over () from t group by k
select k, o, sum(sum(n)) over (partition by k order by o), lag(min(s)) over (order by k, o), max(max(d)) over (partition by o) from t group by k, o
select k, avg(n), row_number() over (order by k) from t group by k having count(*) > 100
select distinct count(*) over (partition by k), k from t
select distinct rank() over (order by k) from t
select id from t order by sum(a) over (partition by k) nulls first, id
select id, rank() over (order by k) as r from t order by r desc, id limit 20
select id, row_number() over (order by id desc) as r from t order by r limit 10 offset 5
select * from (select id, row_number() over (partition by k order by n desc nulls last, id) as r from t) q where r <= 3
select q.k, count(*), max(r) from (select k, dense_rank() over (partition by k order by a) as r from t) q group by q.k
select r, count(*) over (order by r) from (select distinct rank() over (order by k) as r from t) q
select id, sum(r) over (order by r, id rows 2 preceding) from (select id, row_number() over (partition by a order by id) as r from t) q
select id, a + row_number() over (order by id), case when rank() over (order by k) > 100 then 'late' else 'early' end, coalesce(lag(a) over (order by id), 0) from t
select id, rank() over (order by k), sum(a) over (partition by k), count(*) over (partition by k, o), sum(a) over (partition by k order by id), row_number() over (order by k desc, id) from t
select id, count(*) over (partition by o order by 1), rank() over (order by null, k), sum(1) over (order by id) from t
select id, sum(a) over (partition by f order by f), rank() over (order by f), rank() over (order by f desc nulls last) from t
select id, rank() over (order by a + 1), sum(a * 2) over (partition by a % 3 order by id), lag(n + 1, 1, n + 2) over (order by id) from t
select q.id from (select id, k, rank() over (partition by k order by id) as r from t) q join t on t.id = q.id where q.k = 3 and q.r < 5
select count(*) over (order by id rows between 2 preceding and 1 preceding), id from t where id < 4
select id, sum(id * 900000000000000) over (order by id rows 3 preceding) from t
select id, first_value(n) over (order by id), sum(n * n) over (order by id), min(n * 2) over (partition by k) from t
select id, count(k) filter (where a > 0) over (partition by id % 7, id order by id % 7, o groups between 3 preceding and unbounded following exclude current row), sum(a) over (order by a + k asc), sum(id) filter (where o) over (partition by id % 7 order by id rows between unbounded preceding and 3 preceding exclude group) from t where id < 500
select id, last_value(c) over (partition by id order by id range between 3 preceding and 4 following), nth_value(s, 5) over (order by k desc nulls last, id range current row), count(*) over (partition by o, id % 7 order by n asc nulls first range between unbounded preceding and 0.005 following exclude group), avg(k) over (partition by f, s range between unbounded preceding and current row) from t where id < 500
select id, avg(k) over (range between current row and unbounded following), sum(a + k) over (order by o asc nulls last, id rows between unbounded preceding and unbounded following) from t where id < 500
select id, nth_value(o, 5) over (partition by s, k order by id) from t where id < 500
select id, sum(a) filter (where a > 0) over (partition by s range between current row and unbounded following exclude no others) from t where id < 500
select id, ntile(k + 20) over (order by d asc, id), last_value(o) over (partition by f, s order by id range between 3 preceding and 4 following), sum(a + k) filter (where o) over (partition by a + k) from t where id < 500
select id, last_value(k) over (partition by c order by id range between 3 preceding and 4 following), min(c) filter (where s is not null) over (range unbounded preceding) from t where id < 500
select id, sum(a) filter (where o) over (partition by n, a + k order by id nulls last, f desc nulls last groups between unbounded preceding and current row exclude current row), max(n) over (partition by n * 2 range between unbounded preceding and unbounded following exclude no others), lag(d, 1, d) over (partition by d order by id), ntile(5) over (partition by k order by id) from t where id < 500
select id, max(d) over (partition by k, d order by c desc nulls last, id rows between 2 following and unbounded following exclude current row), sum(a) filter (where s is not null) over (partition by n * 2 order by a + k asc range between current row and unbounded following), rank() over (order by o asc nulls last), sum(id) filter (where o) over (order by c asc, d nulls last) from t where id < 500
select id, first_value(k) over (partition by id order by c, id range between unbounded preceding and unbounded following exclude ties), sum(n) filter (where a > 0) over (partition by a + k, s order by case when o then a else k end, c nulls last groups between current row and unbounded following exclude ties) from t where id < 500
select id, avg(a) over (partition by a + k order by f desc nulls last, a + k asc nulls first range unbounded preceding), percent_rank() over (partition by case when o then a else k end, id), cume_dist() over (), avg(n) over (partition by n, n * 2 order by a + k desc nulls last, n) from t where id < 500
select id, cume_dist() over (partition by k order by a + k asc), percent_rank() over (), lead(s, 3) over (partition by o order by f nulls last, id) from t where id < 500
select id, count(d) over (partition by a order by o, n * 2 desc nulls last groups between unbounded preceding and 0 following), sum(a) filter (where a > 0) over (partition by n, n * 2 order by s asc nulls last, d desc range current row exclude current row), percent_rank() over (), count(f) filter (where a > 0) over () from t where id < 500
select id, cume_dist() over (partition by case when o then a else k end, a + k order by n desc, s desc nulls first), lead(k, a) over (partition by d order by case when o then a else k end desc nulls first, id) from t where id < 500
select id, avg(k) filter (where o) over (partition by id order by id % 7 nulls first groups between current row and current row), rank() over (partition by n * 2) from t where id < 500
select id, rank() over (partition by n * 2 order by c asc, id), rank() over (), avg(n) filter (where o) over (order by id asc nulls last range between unbounded preceding and 11 following) from t where id < 500
select id, count(c) over (order by case when o then a else k end nulls first), percent_rank() over (partition by s, id % 7 order by n), nth_value(a, 2) over (order by n nulls first, id range between unbounded preceding and unbounded following exclude ties), last_value(o) over (partition by id, a order by id desc nulls last, d asc groups between current row and current row exclude group) from t where id < 500
select id, sum(a) filter (where s is not null) over (partition by o order by n asc nulls first range between current row and 3 following), count(*) filter (where o) over (partition by a + k order by d desc nulls first range between unbounded preceding and current row exclude group) from t where id < 500
select id, avg(n) filter (where s is not null) over (partition by f order by f asc nulls first, id rows between 4 preceding and unbounded following exclude group) from t where id < 500
select id, first_value(s) over (order by id range between 3 preceding and 4 following), sum(n) filter (where o) over (order by case when o then a else k end asc, id rows between unbounded preceding and current row exclude group) from t where id < 500
select id, cume_dist() over (order by id % 7 asc), sum(a) over (partition by case when o then a else k end, id % 7 order by id rows between 3 preceding and unbounded following), nth_value(o, 5) over (order by k desc nulls last, id range between current row and current row), min(c) filter (where o) over (order by id rows between 3 preceding and 4 preceding exclude ties) from t where id < 500
select id, percent_rank() over (partition by n, c) from t where id < 500
select id, avg(k) over (order by d nulls last, id rows between unbounded preceding and 5 preceding exclude group) from t where id < 500
select id, min(id) over (order by id desc nulls last range between 12 following and unbounded following exclude ties) from t where id < 500
select id, sum(a + k) over (partition by s, k order by k, case when o then a else k end asc range between unbounded preceding and current row) from t where id < 500
