SELECT title, count(*) AS page_views
FROM hits
WHERE counter_id = 62
  AND event_date >= DATE '2013-07-01'
  AND event_date <= DATE '2013-07-31'
  AND dont_count_hits = 0
  AND is_refresh = 0
  AND title <> ''
GROUP BY title
ORDER BY page_views DESC, title
LIMIT 10
