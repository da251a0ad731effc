SELECT user_id, search_phrase, count(*) AS hit_count
FROM hits
GROUP BY user_id, search_phrase
LIMIT 10
