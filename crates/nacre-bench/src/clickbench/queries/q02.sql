SELECT sum(adv_engine_id), count(*), avg(resolution_width) FROM hits
