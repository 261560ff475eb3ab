-- A process's sign of life, and the check that none of its waiters was forgotten: entries that
-- are missing are queued again, a free lock is handed on.
-- KEYS  as in fair.lua
-- ARGV  1 process, 2 claim window in ms, 3... tokens of its waiters that sleep
-- Reply {the token that has the lock, which may be one of ours whose wake-up was lost, or '',
--       last fence issued, ms left to the one who has the lock}
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2])
if denied then return denied end
beat(ARGV[1])
keep()
local some = redis.call('HRANDFIELD', KEYS[4]) -- in time all that are gone are forgotten
local then_ms = tonumber(redis.call('HGET', KEYS[4], some)) or 0
if some ~= '!' and redis.call('HGET', KEYS[4], ARGV[1]) - then_ms > KEEP_MS then
    redis.call('HDEL', KEYS[4], some)
end
local queued = {}
for _, token in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do
    queued[token] = true
end
local has = owner(KEYS[1])
for i = 3, #ARGV do
    if not queued[ARGV[i]] and has ~= ARGV[i] then enqueue_again(ARGV[i]) end
end
if not has then has = recover(ARGV[2], ARGV[1] .. ':') end
return {has or '', issued(KEYS[2]) or 0, redis.call('PTTL', KEYS[1])}
