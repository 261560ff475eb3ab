-- Notes in a sale's terms that all segments have their stock. From then on a segment without a pointer has
-- lost it, and is not started again.
-- KEYS  1 cfg
-- Reply 1, or 0 = the terms are missing, and nothing was done
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'segments_started', '1')
return 1
