-- KEYS  1 name, 2 fence counter (more is ignored)
-- ARGV  1 owner, 2 lease in ms
-- Reply 1: renewed, 0: not ours
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then return 0 end
keep_fences(2, 2, ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
