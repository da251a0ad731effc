SELECT search_engine_id, search_phrase, count(*) AS hit_count
FROM hits
WHERE search_phrase <> ''
GROUP BY search_engine_id, search_phrase
ORDER BY hit_count DESC, search_engine_id, search_phrase
LIMIT 10
