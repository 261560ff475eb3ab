-- Before the command: whether it ran in the period. The body of a guard, so the lock is ours.
-- KEYS  1 record of the last run that succeeded: when it began, in us of this clock
-- ARGV  1 period in ms
-- Reply {1, now in us}: the command may begin, {0, us since that run began}: not yet
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local began = tonumber(redis.call('MGET', KEYS[1])[1] or nil) -- another type is as good as nothing
if began and math.abs(now - began) < ARGV[1] * 1000 then return {0, now - began} end
return {1, now}
