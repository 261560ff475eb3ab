-- Hands on a share whose waiter does not wait any more, unless it was taken up.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply 1: handed on, 0: nothing to do
purge(ARGV[1])
local was = 0
if in_beats('HDEL', '!' .. ARGV[1]) == 1 and not stranger then
    was = redis.call('ZREM', KEYS[1], ARGV[1])
end
hand_on(ARGV[2])
return was
