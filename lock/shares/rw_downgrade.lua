-- Exchanges a writer's share for a reader's, and lets in the readers that wait.
-- KEYS  1..5 as in shares.lua
-- ARGV  1 the writer's token, 2 the reader's, 3 its lease in ms, 4 claim window in ms,
--       5 not after, see late()
-- Reply {1, last fence issued, clock us, waiters}, {0, 0: nobody has it, 1: others}, or
--       {2, clock us}: too late
if late() then return {2, clock()} end
local denied = may_not('PEXPIRE', KEYS[3], ARGV[3]) or may_not('PEXPIREAT', KEYS[1], ARGV[3])
if denied then return denied end
purge(ARGV[1])
if stranger or not has(ARGV[2]) and redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then
    hand_on(ARGV[4])
    return {0, taken() > 0 and 1 or 0}
end
hold(ARGV[2], ARGV[3])
keep_fences(2, 2, ARGV[3])
hand_on(ARGV[4])
return {1, issued(KEYS[2]) or 0, clock(), in_queue('LLEN')}
