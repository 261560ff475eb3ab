-- Takes a lock away from whoever has it, whatever its type, and raises the fence.
-- KEYS  1..5 as in fair.lua, 6 channel
-- ARGV  1 claim window in ms, 2 '1': the queue is a fair one
-- Reply 1: done, 0: it was free
next_fence(2, 2, 0)
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.pcall('PUBLISH', KEYS[6], '0')
redis.pcall('SPUBLISH', KEYS[6], '0')
if ARGV[2] == '1' then hand_on(ARGV[1], '') end
return 1
