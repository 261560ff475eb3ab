-- A waiter leaves: removes it from the queue, and hands the lock on if it was granted meanwhile.
-- KEYS  as in fair.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply 1: released, 0: free already, -1: somebody else's
in_queue('LREM', 0, ARGV[1])
local has = owner(KEYS[1])
if has and has ~= ARGV[1] then return -1 end
if not has then
    recover(ARGV[2], ARGV[1])
    return 0
end
hand_on(ARGV[2], '')
return 1
