-- KEYS  1 name
-- ARGV  1 owner, 2 lease in ms
-- Reply 1: renewed, 0: not ours
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
