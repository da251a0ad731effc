SELECT 1 AS one, url, count(*) AS hit_count
FROM hits
GROUP BY one, url
ORDER BY hit_count DESC, url
LIMIT 10
