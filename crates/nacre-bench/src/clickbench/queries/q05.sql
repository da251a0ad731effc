SELECT count(DISTINCT search_phrase) FROM hits
