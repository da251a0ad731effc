SELECT region_id, sum(adv_engine_id), count(*) AS hit_count, avg(resolution_width),
       count(DISTINCT user_id)
FROM hits
GROUP BY region_id
ORDER BY hit_count DESC, region_id
LIMIT 10
