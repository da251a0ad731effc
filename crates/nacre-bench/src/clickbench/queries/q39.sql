SELECT traffic_source_id, search_engine_id, adv_engine_id,
       CASE WHEN search_engine_id = 0 AND adv_engine_id = 0 THEN referer ELSE '' END AS source,
       url AS target, count(*) AS page_views
FROM hits
WHERE counter_id = 62
  AND event_date >= DATE '2013-07-01'
  AND event_date <= DATE '2013-07-31'
  AND is_refresh = 0
GROUP BY traffic_source_id, search_engine_id, adv_engine_id, source, target
ORDER BY page_views DESC, traffic_source_id, search_engine_id, adv_engine_id, source, target
LIMIT 10 OFFSET 1000
