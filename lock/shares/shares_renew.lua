-- Renews a lease if the share is there and not over. Never creates the share.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 lease in ms
-- Reply 1: renewed, 0: not ours
local ends = has(ARGV[1])
if not ends or tonumber(ends) <= now_ms then return 0 end
hold(ARGV[1], ARGV[2])
keep_fences(2, 2, ARGV[2])
if KEYS[6] then keep_fences(6, 6, ARGV[2]) end
return 1
