-- Deletes the lock if it is mine. (The article deletes without looking: a defect, not rebuilt.)
-- KEYS  1 the lock
-- ARGV  1 my token
-- Reply none
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
