-- Extends article 004's lock: if its value is mine, sets the new one and a longer time to live.
-- KEYS  1 the lock
-- ARGV  1 my value  2 the new value  3 lease, ms
-- Reply 1 = extended, 0 = the value is not mine
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', math.max(redis.call('PTTL', KEYS[1]), 0) + ARGV[3])
return 1
