-- Redisson's layout: the lock is a hash with the field owner -> count. Ours counts re-entries
-- locally, so the count stays 1.
-- KEYS  1 name, 2 fence counter, 3 queue, 4 beats
-- ARGV  1 owner, 2 lease in ms, 3 not after, see late()
-- Reply {1, fence, clock us, 0}, refusal()'s, or {2, clock us}: too late
if late() then return {2, clock()} end
local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1]) == 1
local left = mine and -2 or redis.call('PTTL', KEYS[1])
local taken = left ~= -2
if not mine and (taken or not may_be_of(KEYS[2], 'h')) then
    local refused = refusal(KEYS[1], KEYS[2], 'h', KEYS[3], KEYS[4], left)
    if taken or refused.err then return refused end
end
local denied = may_not('PEXPIRE', KEYS[1], ARGV[2]) -- a lock without an expiry is not ours
if denied then return denied end
local fence, now = next_fence(2, 2, ARGV[2], 'h', ARGV[1], mine)
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, fence, now, 0}
