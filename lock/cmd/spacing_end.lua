-- After the command: notes that it ran, and keeps the name for the rest of its time. The body of a
-- guard, so the lock is ours.
-- KEYS  1 lock, 2 record of the last run that succeeded, as in spacing_begin.lua
-- ARGV  1 our token, 2 rest in ms; 0: the name is not kept, 3 token of a name that is kept,
--       4 period in ms; 0: this run is not noted, 5 when it began, in us of this clock
-- Reply 1
-- The name is kept under another token, so nothing that was ours reaches it any more: no renewal
-- under way, and no release. Whoever frees it does so by force.
local period = tonumber(ARGV[4])
if period > 0 then
    redis.call('SET', KEYS[2], ARGV[5], 'PXAT', math.floor(ARGV[5] / 1000) + period)
end
if ARGV[2] == '0' then return 1 end
if redis.call('TYPE', KEYS[1]).ok == 'zset' then -- a writer's, who is alone in it
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
    redis.call('ZADD', KEYS[1], ends, ARGV[3])
    redis.call('ZREM', KEYS[1], ARGV[1])
    redis.call('PEXPIREAT', KEYS[1], ends)
else
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
end
return 1
