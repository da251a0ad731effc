SELECT search_phrase, min(url), min(title), count(*) AS hit_count, count(DISTINCT user_id)
FROM hits
WHERE title LIKE '%Google%'
  AND url NOT LIKE '%.google.%'
  AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY hit_count DESC, search_phrase
LIMIT 10
