-- KEYS  1 name, 2 channel
-- ARGV  1 owner
-- Reply 1: released, 0: free already, -1: somebody else's
-- Both kinds of publish: Redisson listens to the sharded one in a cluster. The lock is free even
-- where this user may not publish; waiters then find it at their re-check.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then return -1 end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', KEYS[2], '0')
redis.pcall('SPUBLISH', KEYS[2], '0')
return 1
