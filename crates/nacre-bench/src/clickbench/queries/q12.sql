SELECT search_phrase, count(*) AS hit_count
FROM hits
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY hit_count DESC, search_phrase
LIMIT 10
