SELECT region_id, count(DISTINCT user_id) AS user_count
FROM hits
GROUP BY region_id
ORDER BY user_count DESC, region_id
LIMIT 10
