-- Counts a latch down, once for each WHO and round. The caller gives the round that it knows, so a
-- late call, which was repeated meanwhile, does not count in the next round.
-- KEYS  1 latch; no other, so that it can be counted down while its slot moves
-- ARGV  1 who, 2 the round, 3 channel on which its opening is told
-- Reply see latch.lua
-- The latch opens even if this user may not publish; waiters then find out at their re-check.
local latch, strange = read_latch()
if not latch then return tell(strange and -2 or -1) end
if latch.round ~= tonumber(ARGV[2]) then return tell(2, latch) end
local by = 'by:' .. ARGV[1]
if latch.left == 0 or redis.call('HEXISTS', KEYS[1], by) == 1 then return tell(1, latch) end
local denied = may_not('PEXPIRE', KEYS[1], digits(latch.life))
if denied then return denied end -- it would be counted, and called a failure
latch.left = latch.left - 1
redis.call('HSET', KEYS[1], 'left', digits(latch.left), by, 1)
redis.call('PEXPIRE', KEYS[1], digits(latch.life))
if latch.left == 0 then redis.pcall('PUBLISH', ARGV[3], digits(latch.round)) end
return tell(1, latch)
