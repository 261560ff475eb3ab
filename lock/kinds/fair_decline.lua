-- Hands on a grant whose waiter does not wait any more, unless it was taken up.
-- KEYS  as in fair.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply 1: handed on, 0: nothing to do
if owner(KEYS[1]) ~= ARGV[1] or in_beats('HGET', '!') ~= ARGV[1] then return 0 end
hand_on(ARGV[2], '')
return 1
