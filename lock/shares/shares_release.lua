-- A holder releases: hands its share to waiters that fit.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply 1: released, 0: it was not there, -1: the same, and a stranger or, from a writer, others have it
purge(ARGV[1])
local was = not stranger and redis.call('ZREM', KEYS[1], ARGV[1]) or 0
hand_on(ARGV[2])
if was == 0 and (stranger or weight(ARGV[1]) == math.huge and taken() > 0) then return -1 end
return was
