-- Article 000's renewal: if the lock is still mine, adds a whole lease to its time to live.
-- KEYS  1 the lock
-- ARGV  1 my token  2 lease, ms
-- Reply 1 = renewed, 0 = not mine (any more)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[2])
