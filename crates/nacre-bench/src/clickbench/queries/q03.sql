SELECT avg(user_id) FROM hits
