SELECT user_id, extract(MINUTE FROM event_time) AS event_minute, search_phrase,
       count(*) AS hit_count
FROM hits
GROUP BY user_id, event_minute, search_phrase
ORDER BY hit_count DESC, user_id, event_minute, search_phrase
LIMIT 10
