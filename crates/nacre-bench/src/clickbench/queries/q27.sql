SELECT counter_id, avg(length(url)) AS mean_length, count(*) AS hit_count
FROM hits
WHERE url <> ''
GROUP BY counter_id
HAVING count(*) > 100000
ORDER BY mean_length DESC, counter_id
LIMIT 25
