SELECT search_phrase, count(DISTINCT user_id) AS user_count
FROM hits
WHERE search_phrase <> ''
GROUP BY search_phrase
ORDER BY user_count DESC, search_phrase
LIMIT 10
