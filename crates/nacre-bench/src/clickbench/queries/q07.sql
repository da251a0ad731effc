SELECT adv_engine_id, count(*) AS hit_count
FROM hits
WHERE adv_engine_id <> 0
GROUP BY adv_engine_id
ORDER BY hit_count DESC, adv_engine_id
