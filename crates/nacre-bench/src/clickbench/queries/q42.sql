SELECT date_trunc('minute', event_time) AS event_minute, count(*) AS page_views
FROM hits
WHERE counter_id = 62
  AND event_date >= DATE '2013-07-14'
  AND event_date <= DATE '2013-07-15'
  AND is_refresh = 0
  AND dont_count_hits = 0
GROUP BY event_minute
ORDER BY event_minute
LIMIT 10 OFFSET 1000
