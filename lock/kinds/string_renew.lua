-- Sets the lease anew where the lock still is ours. Never creates it.
-- KEYS  names
-- ARGV  1 token, 2 lease in ms
-- Reply 1: renewed, 0: not ours
for i = 1, #KEYS do
    if owner(KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return 1
