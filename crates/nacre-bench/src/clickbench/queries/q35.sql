SELECT client_ip, client_ip - 1, client_ip - 2, client_ip - 3, count(*) AS hit_count
FROM hits
GROUP BY client_ip, client_ip - 1, client_ip - 2, client_ip - 3
ORDER BY hit_count DESC, client_ip
LIMIT 10
