-- Takes a lock away from whoever has it, whatever its type, and raises the fence.
-- KEYS  1..5 as in fair.lua, 6 channel
-- ARGV  1 claim window in ms, 2 '1': the queue is a fair one
-- Reply 1: done, 0: it was free
-- Waiters for a share get it at the next heartbeat, which finds the lock free: hand_on() here is the
-- fair queue's, and must not touch the queue of a shared lock.
local shared = redis.call('TYPE', KEYS[1]).ok == 'zset'
local holders = 1
if shared then
    holders = redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', math.floor(clock() / 1000)), '+inf')
    for _, token in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
        in_beats('HDEL', '!' .. token) -- handed on, and not taken up
    end
end
local last = record(KEYS[2])
next_fence(2, 2, 0, last and last.family or 's', '-')
if redis.call('DEL', KEYS[1]) == 0 or holders == 0 then return 0 end
if shared then return 1 end
redis.pcall('PUBLISH', KEYS[6], '0')
redis.pcall('SPUBLISH', KEYS[6], '0')
if ARGV[2] == '1' then hand_on(ARGV[1], '') end
return 1
