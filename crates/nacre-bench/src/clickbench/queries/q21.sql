SELECT search_phrase, min(url), count(*) AS hit_count
FROM hits
WHERE url LIKE '%google%'
  AND search_phrase <> ''
GROUP BY search_phrase
ORDER BY hit_count DESC, search_phrase
LIMIT 10
