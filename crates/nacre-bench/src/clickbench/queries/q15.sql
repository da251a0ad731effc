SELECT user_id, count(*) AS hit_count
FROM hits
GROUP BY user_id
ORDER BY hit_count DESC, user_id
LIMIT 10
