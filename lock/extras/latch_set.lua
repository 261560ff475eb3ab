-- Sets a latch, if there is none or it is open. The caller gives the round that it knows, so a late
-- call does not close a latch that was set and opened meanwhile.
-- KEYS  1 latch
-- ARGV  1 count, 2 life in ms, 3 the round that is there, 0: none
-- Reply see latch.lua
local latch, strange = read_latch()
if strange then return tell(-2) end
if latch and latch.left > 0 then return tell(0, latch) end
local before = latch and latch.round or 0
if before ~= tonumber(ARGV[3]) then return tell(2, latch) end
local denied = may_not('HSET', KEYS[1], 'left', ARGV[1]) or may_not('PEXPIRE', KEYS[1], ARGV[2])
if denied then return denied end -- without them the open one would be lost
local round = math.max(clock(), before + 1)
local new = {left = tonumber(ARGV[1]), round = round, first = latch and latch.first or round}
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'left', ARGV[1], 'round', digits(round), 'first', digits(new.first),
    'life', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tell(1, new)
