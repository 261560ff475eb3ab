-- One server's vote.
-- KEYS  1 name
-- ARGV  1 token, 2 lease in ms, 3 not after, see late()
-- Reply {1, clock us}: given, {0, clock us}: somebody else has it, {2, clock us}: too late
if late() then return {2, clock()} end
local has = owner(KEYS[1])
if has and has ~= ARGV[1] then return {0, clock()} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, clock()}
