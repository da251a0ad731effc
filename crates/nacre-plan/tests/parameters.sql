select $1
select $1 + 1
select $1 || 'x'
select 3000000000 * $1
select $1 > 1.5
select -$1 * n from t
select upper($1), left($2, $3), sqrt($4)
select coalesce($1, b), nullif($2, f) from t
select case when $1 then a else $2 end from t
select case s when $1 then $2 else n end from t
select a from t where s = $1 and d between $2 and $3
select a from t where v = $1 and c = $2
select a from t where a between $1 and $1
select a from t where $1 between a and b
select a from t where $1 between symmetric b and a
select a from t where a in ($1, 2) and not $2
select a from t where $1 in (1, 2) limit $2 offset $3
select a from t where $1 in (a, b)
select a from t where a = any ($1) and s <> all ($2)
select a from t where a = any ($1::bigint[])
select a from t where a = any (array[$1, 2])
select a from t where $1 = any (array[1, 2])
select a from t where $1 = any ('{1,2}'::bigint[])
select a from t where s like $1 and ts >= $2
select a from t where d < current_date - $1
select a from t where ts > now() - $1
select a from t where a = $1 and b = $1
select a from t where b = $1 and a = $1
select $1 from t where a = $1
select a from t where a = $2
select $1 = $2
select $1 = $2, $2 = a from t
select a from t where a = (select max(pk) from p where price < $1) + $2
select a from t where $1 in (select price from p)
select a from t union all select $1
select a from t union all select $1 + 1
values (1, $1), ($2, 'x')
select a from t join p on p.price = $1 and t.a = $2
select $1::int + $2::numeric(5,1)
select cast($1 as date)
select a from t group by a having count(*) > $1
select a + $1 from t group by a + $1
select a from t order by $1
select sum(a) over (order by b rows $1 preceding) from t
select $1::int, $1
select $1, $1::int
select a from t where o = $1
select a from t where $1
select a from t where k = $1 and r = $2 and f = $3
select $1 is not distinct from a from t
select extract(year from $1)
select date_trunc('month', $1)
select count(*) filter (where a > $1) from t
select x from (select a + $1 as x from t) s where x > $2
with w as (select a from t where a > $1) select a from w where a < $2
select * from v1 where total > $1
select a from t where n > $1 * 2
select a from t where n > $1 * 1.5
select abs($1)
select $1 + $2
select greatest($1, a), least($2, $3) from t
select distinct on (a) a from t where b = $1 order by a, b
