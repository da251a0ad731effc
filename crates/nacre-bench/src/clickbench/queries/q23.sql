SELECT *
FROM hits
WHERE url LIKE '%google%'
ORDER BY event_time, watch_id
LIMIT 10
