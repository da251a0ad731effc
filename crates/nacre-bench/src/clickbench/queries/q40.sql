SELECT url_hash, event_date, count(*) AS page_views
FROM hits
WHERE counter_id = 62
  AND event_date >= DATE '2013-07-01'
  AND event_date <= DATE '2013-07-31'
  AND is_refresh = 0
  AND traffic_source_id IN (-1, 6)
  AND referer_hash = 6573657921693391350
GROUP BY url_hash, event_date
ORDER BY page_views DESC, url_hash, event_date
LIMIT 10 OFFSET 100
