-- A waiter goes: out of the queue, and without what was handed on to it meanwhile. The rest is a
-- holder's release, which comes behind.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply as shares_release.lua's
redis.call('LREM', KEYS[3], 0, ARGV[1])
redis.call('HDEL', KEYS[4], '!' .. ARGV[1])
