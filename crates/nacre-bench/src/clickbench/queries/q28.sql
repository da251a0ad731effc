SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS site,
       avg(length(referer)) AS mean_length, count(*) AS hit_count, min(referer)
FROM hits
WHERE referer <> ''
GROUP BY site
HAVING count(*) > 100000
ORDER BY mean_length DESC, site
LIMIT 25
