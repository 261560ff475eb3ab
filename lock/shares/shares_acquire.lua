-- Takes a share if it fits and nobody is before us, or takes up one that was handed on to us;
-- otherwise queues.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 lease in ms, 3 claim window in ms,
--       4 if it is not granted: '0': do nothing, '1': queue, '2': queue unless we are queued,
--       5 number of permits if Redis has none, 6 not after, see late()
-- Reply {1, fence, clock us, waiters}, refusal()'s with the ms until a share may end or -1, or
--       {2, clock us}: too late
-- Idempotent: a token is queued once, and finds what it got if the reply was lost. A writer and a
-- holder of permits get a fence of their own, a reader the last one issued.
if late() then return {2, clock()} end
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2]) or may_not('PEXPIREAT', KEYS[1], ARGV[2])
if denied then return denied end
local token, queue = ARGV[1], ARGV[4] ~= '0'
denied = other_family()
if denied then return denied end
local writes = weight(token) == math.huge
if KEYS[6] then
    if permits() then
        keep_fences(6, 6, ARGV[2])
    else
        redis.call('SET', KEYS[6], ARGV[5], 'PX', FENCE_MS + ARGV[2])
        capacity = tonumber(ARGV[5])
    end
end
purge(token)
local mine = has(token)
local handed = in_beats('HDEL', '!' .. token) == 1
local got = mine
if not got and in_queue('LLEN') == 0 then got = fits(token, taken()) end
if not got then
    if queue then
        claim(KEYS[2], family, ARGV[2])
        beat(process(token))
        if ARGV[4] == '1' then
            if in_beats('HEXISTS', token) == 0 then enqueue(token) end
        else
            keep()
            if not queued()[token] then enqueue_again(token) end
        end
    end
    local stopped = hand_on(ARGV[3], token)
    got = has(token) or (not queue and not stopped and fits(token, taken()))
end
if not got then return refusal(KEYS[1], KEYS[2], family, nil, nil, next_end()) end
local waiters = in_queue('LLEN')
if waiters > 0 then waiters = waiters - in_queue('LREM', 0, token) end
hold(token, ARGV[2])
if handed and waiters > 0 then hand_on(ARGV[3], token, 1) end
if writes or KEYS[6] then
    local fence, now = next_fence(2, 2, ARGV[2], family, token, mine)
    return {1, fence, now, waiters}
end
claim(KEYS[2], family, ARGV[2])
keep_fences(2, 2, ARGV[2])
return {1, issued(KEYS[2]) or 0, clock(), waiters}
