-- Fragment: the fair queue. Comes after fence.lua.
-- KEYS  1 lock, 2 fence counter, 3 queue (list of tokens, oldest first),
--       4 beats (hash: process -> ms of its last heartbeat; '!' -> token granted, not yet taken up;
--         token -> ms at which it was queued again),
--       5 prefix of the channels on which processes are woken, one each
-- Everything but the lock lives on while somebody beats, and is gone a minute after the last.
local STALE_MS, SUSPECT_MS, KEEP_MS = 2000, 400, 60000

-- Queue and beats are hints, which heartbeats rebuild: what stands there of another type goes.
for i, kind in pairs({[3] = 'list', [4] = 'hash'}) do
    local found = redis.call('TYPE', KEYS[i]).ok
    if found ~= kind and found ~= 'none' then redis.call('DEL', KEYS[i]) end
end

local function process(token)
    return string.match(token, '^(.*):') or ''
end

local function keep()
    redis.call('PEXPIRE', KEYS[3], KEEP_MS)
    redis.call('PEXPIRE', KEYS[4], KEEP_MS)
end

local function beat(who)
    local new = redis.call('HSET', KEYS[4], who, math.floor(clock() / 1000))
    if new == 1 then keep() end
end

local function enqueue(token)
    if redis.call('RPUSH', KEYS[3], token) == 1 then keep() end
end

-- The tokens in the queue, as a set.
local function queued()
    local ret = {}
    for _, token in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do ret[token] = true end
    return ret
end

-- For whoever may queue a token before the waiter's first question comes: that one would not look
-- through the queue, but it looks for this mark. In time the mark is forgotten like a beat.
local function enqueue_again(token)
    redis.call('HSET', KEYS[4], token, math.floor(clock() / 1000))
    enqueue(token)
end

-- Gives the lock, which is free or the caller's to give, to the first waiter whose process lives,
-- for the claim window, and wakes it with "token fence clock-us waiters window-ms": whoever gets the
-- lock can not know otherwise what expiry it was given. `asking` needs no waking.
-- Returns the token granted; nil when nobody waits, and the lock is then free.
local function hand_on(claim_ms, asking, stale_ms)
    while true do
        local token = redis.call('LPOP', KEYS[3])
        if not token then
            redis.call('DEL', KEYS[1])
            redis.call('HDEL', KEYS[4], '!')
            return nil
        end
        local who = process(token)
        local beaten = tonumber(redis.call('HGET', KEYS[4], who) or '')
        local fence, us = next_fence(2, 2, claim_ms, 's', token)
        if beaten and us / 1000 - beaten <= (stale_ms or STALE_MS) then
            redis.call('SET', KEYS[1], token, 'PX', claim_ms)
            redis.call('HSET', KEYS[4], '!', token)
            if token ~= asking then
                -- A hint: where it is lost, the next heartbeat tells of the grant.
                redis.pcall('PUBLISH', KEYS[5] .. who, string.format('%s %.0f %.0f %d %s', token,
                    fence, us, redis.call('LLEN', KEYS[3]), claim_ms))
            end
            return token
        end
    end
end

-- The same when the lock is gone without having been released. A grant that nobody took up ('!' is
-- still there) shows a dead or stopped process: its beat is forgotten, so that all its entries are
-- passed over at once. Unless it is the one that asks: that one lives. After a lease that ended by
-- itself the holder's process may be dead; waiters count as alive only if they beat just now.
local function recover(claim_ms, asking)
    if not may_be_of(KEYS[2], 's') then return nil end
    local lapsed = redis.call('HGET', KEYS[4], '!')
    if lapsed and process(lapsed) ~= process(asking) then
        redis.call('HDEL', KEYS[4], process(lapsed))
    end
    return hand_on(claim_ms, asking, SUSPECT_MS)
end
