-- Takes the lock if it is free and nobody is before us, or takes up a grant; otherwise queues.
-- KEYS  as in fair.lua
-- ARGV  1 token, 2 lease in ms, 3 claim window in ms,
--       4 if it is not granted: '0': do nothing, '1': queue, '2': queue unless we are queued,
--       5 not after, see late()
-- Reply {1, fence, clock us, waiters}, refusal()'s, or {2, clock us}: too late
-- Idempotent: a token is queued once, and finds a grant whose reply was lost.
if late() then return {2, clock()} end
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2])
if denied then return denied end
local token, queue = ARGV[1], ARGV[4] ~= '0'
local has = owner(KEYS[1])
local mine = has == token
local waiters = in_queue('LLEN')
local refused = not mine and (has or waiters > 0)
    and refusal(KEYS[1], KEYS[2], 's', KEYS[3], KEYS[4], nil, has)
if refused and refused.err then return refused end
if not has and waiters == 0 and in_beats('HEXISTS', '!') == 0 then has = token end
if has ~= token and queue then
    claim(KEYS[2], 's', ARGV[2])
    beat(process(token))
    if ARGV[4] == '1' then
        if in_beats('HEXISTS', token) == 0 then enqueue(token) end
    else
        keep()
        if not queued()[token] then enqueue_again(token) end
    end
end
if not has then
    has = recover(ARGV[3], token)
    if not has and not queue then has = token end
    refused = nil
end
if has ~= token then return refused or refusal(KEYS[1], KEYS[2], 's', nil, nil, nil, has) end
waiters = in_queue('LLEN')
if waiters > 0 then waiters = waiters - in_queue('LREM', 1, token) end
local fence, now = next_fence(2, 2, ARGV[2], 's', token, mine)
in_beats('HDEL', '!')
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return {1, fence, now, waiters}
