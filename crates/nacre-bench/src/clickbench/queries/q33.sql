SELECT url, count(*) AS hit_count
FROM hits
GROUP BY url
ORDER BY hit_count DESC, url
LIMIT 10
