-- Renews the lease if the lock is still ours; this also takes up a grant. Never creates the lock.
-- KEYS  1..4 as in fair.lua
-- ARGV  1 token, 2 lease in ms
-- Reply 1: renewed, 0: not ours
if owner(KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
keep_fences(2, 2, ARGV[2])
redis.pcall('HDEL', KEYS[4], '!') -- unless it is of another type
return 1
