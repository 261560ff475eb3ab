-- A process's heartbeat, and a check of its waiters: missing entries are queued again, and a free
-- lock is handed on.
-- KEYS  as in fair.lua
-- ARGV  1 process, 2 claim window in ms, 3... tokens of its waiters that sleep
-- Reply {the token that has the lock, or '', last fence issued, ms left to the holder, 1: the holder
--       is another library's}. The token may be one of ours whose wake-up was lost.
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2])
if denied then return denied end
local refused = refusal(KEYS[1], KEYS[2], 's', KEYS[3], KEYS[4], nil, owner(KEYS[1]))
if refused.err then return refused end
claim(KEYS[2], 's', 0)
beat(ARGV[1])
keep()
local some = in_beats('HRANDFIELD') -- in time all that are gone are forgotten
local then_ms = tonumber(in_beats('HGET', some)) or 0
if some ~= '!' and in_beats('HGET', ARGV[1]) - then_ms > KEEP_MS then
    in_beats('HDEL', some)
end
tidy()
local waiting = queued()
local has = owner(KEYS[1])
for i = 3, #ARGV do
    if not waiting[ARGV[i]] and has ~= ARGV[i] then enqueue_again(ARGV[i]) end
end
if not has then has = recover(ARGV[2], ARGV[1] .. ':') end
return {has or '', issued(KEYS[2]) or 0, redis.call('PTTL', KEYS[1]), has and refused[4] or 0}
