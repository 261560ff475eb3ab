-- The holder releases: hands the lock to the first in the queue.
-- KEYS  as in fair.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply 1: released, 0: free already, -1: somebody else's
local has = owner(KEYS[1])
if has ~= ARGV[1] then return has and -1 or 0 end
hand_on(ARGV[2], '')
return 1
