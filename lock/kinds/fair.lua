-- Fragment: the fair queue. Comes after fence.lua.
-- KEYS  1 lock, 2 fence counter, 3 queue (list of tokens, oldest first),
--       4 beats (hash: process -> ms of its last sign of life; '!' -> token granted, not yet taken up;
--         token -> ms at which it was queued again),
--       5 prefix of the wake-up lists, one a process, and of the channels of those processes whose
--         waiters have no thread: tokens "<process>:a<number>"
-- Everything but the lock lives on while somebody beats, and is gone a minute after the last.
local STALE_MS, SUSPECT_MS, KEEP_MS, WAKE_MAX = 2000, 400, 60000, 64

-- Queue and beats are hints, which signs of life rebuild: what stands there of another type goes.
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

-- For whoever may queue a token before the waiter's first question comes: that one would not look
-- through the queue, but it looks for this mark. In time the mark is forgotten like a beat.
local function enqueue_again(token)
    redis.call('HSET', KEYS[4], token, math.floor(clock() / 1000))
    enqueue(token)
end

-- A wake-up is a hint, too: where it can not be left, the next sign of life tells of the grant. What
-- is no list goes; that of a process that polls loses its oldest.
local function wake_up(list, message)
    local unread = redis.pcall('RPUSH', list, message)
    if type(unread) == 'table' then return redis.pcall('DEL', list) end
    if unread > WAKE_MAX then redis.call('LPOP', list) end
    redis.call('PEXPIRE', list, KEEP_MS)
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
        local fence, us = next_fence(2, 2, claim_ms)
        if beaten and us / 1000 - beaten <= (stale_ms or STALE_MS) then
            redis.call('SET', KEYS[1], token, 'PX', claim_ms)
            redis.call('HSET', KEYS[4], '!', token)
            if token ~= asking then
                local wake = KEYS[5] .. who
                local message = string.format('%s %.0f %.0f %d %s', token, fence, us,
                    redis.call('LLEN', KEYS[3]), claim_ms)
                if string.byte(token, #who + 2) == 97 then -- 'a'; who may not publish leaves it to
                    redis.pcall('PUBLISH', wake, message) -- the waiter's next sign of life
                else
                    wake_up(wake, message)
                end
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
    local lapsed = redis.call('HGET', KEYS[4], '!')
    if lapsed and process(lapsed) ~= process(asking) then
        redis.call('HDEL', KEYS[4], process(lapsed))
    end
    return hand_on(claim_ms, asking, SUSPECT_MS)
end
