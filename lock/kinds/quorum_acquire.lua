-- One server's vote.
-- KEYS  1 name
-- ARGV  1 token, 2 lease in ms
-- Reply 1: given, 0: somebody else has it
local has = owner(KEYS[1])
if has and has ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
