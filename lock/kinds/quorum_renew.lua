-- One server's vote for another lease. A renewal may be allowed to take a lost vote again.
-- KEYS  1 name
-- ARGV  1 token, 2 lease in ms, 3 until when, in us of this server's clock, it may take the vote; 0:
--       it may not
-- Reply {1, clock us}: ours, {0, clock us}: not, or too late
local has = owner(KEYS[1])
local takes = not has and clock() < tonumber(ARGV[3])
if has ~= ARGV[1] and not takes then return {0, clock()} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, clock()}
