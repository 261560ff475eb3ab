-- Deletes the lock if it is mine. (The article deletes it unchecked; that defect is not copied.)
-- KEYS  1 the lock
-- ARGV  1 my token
-- Reply 1 = deleted, 0 = not mine (any more)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
