SELECT window_client_width, window_client_height, count(*) AS page_views
FROM hits
WHERE counter_id = 62
  AND event_date >= DATE '2013-07-01'
  AND event_date <= DATE '2013-07-31'
  AND is_refresh = 0
  AND dont_count_hits = 0
  AND url_hash = 7871863506938397145
GROUP BY window_client_width, window_client_height
ORDER BY page_views DESC, window_client_width, window_client_height
LIMIT 10 OFFSET 100
