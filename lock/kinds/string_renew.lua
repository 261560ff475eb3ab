-- Renews the lease if the lock is still ours. Never creates the lock.
-- KEYS  names, then as many fence counters
-- ARGV  1 token, 2 lease in ms, 3 number of names
-- Reply 1: renewed, 0: not ours
local names = tonumber(ARGV[3])
for i = 1, names do
    if owner(KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = 1, names do
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
keep_fences(names + 1, #KEYS, ARGV[2])
return 1
