-- Article 004's extension: if the lock's value is the one I know, a new one and a longer life.
-- KEYS  1 the lock
-- ARGV  1 the value I know  2 the new value  3 lease, ms
-- Reply 1 = extended, 0 = somebody else's value
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', math.max(redis.call('PTTL', KEYS[1]), 0) + ARGV[3])
return 1
