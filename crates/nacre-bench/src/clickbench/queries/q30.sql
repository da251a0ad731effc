SELECT search_engine_id, client_ip, count(*) AS hit_count, sum(is_refresh),
       avg(resolution_width)
FROM hits
WHERE search_phrase <> ''
GROUP BY search_engine_id, client_ip
ORDER BY hit_count DESC, search_engine_id, client_ip
LIMIT 10
