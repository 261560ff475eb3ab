-- Fragment: a name with several holders (a read/write lock, a semaphore), and the queue for it. Comes
-- after fence.lua and queue.lua.
-- KEYS  1 lock (sorted set: token of a holder -> end of its lease in ms of this clock), 2 fence counter,
--       3 queue, 4 beats (and '!' and token -> 1: it was handed on to this token, which has not taken it
--         up),
--       5 prefix of the channels on which processes are woken, one each,
--       6 number of permits (a semaphore's; a read/write lock has no such key, and room for any number).
--         It lives a day longer than the longest lease that anybody has asked for: forgotten while
--         permits are out, it would be another one's idea of it
local YEAR_MS = 31536000000
local HAND_MAX = 32

-- A key of another type at the lock's own name is a stranger's, and stays.
local there = redis.call('TYPE', KEYS[1]).ok
local stranger = there ~= 'zset' and there ~= 'none'
local family = KEYS[6] and 'p' or 'r'

-- The error that another family holds the name or waits for it; nil: none does.
local function other_family()
    local refused = refusal(KEYS[1], KEYS[2], family, KEYS[3], KEYS[4], 0)
    return refused.err and refused or nil
end

-- nil: there is no number, or what stands there is none.
local function permits()
    local word = redis.call('MGET', KEYS[6])[1]
    return word and string.find(word, '^%d+$') and tonumber(word)
end
local capacity = KEYS[6] and (permits() or 0) or math.huge

-- What a token takes: everything if it ends in '*w', K if it ends in '*K', else 1.
local function weight(token)
    if string.find(token, '%*w$') then return math.huge end
    return tonumber(string.match(token, '%*(%d+)$') or 1)
end

local function has(token)
    return not stranger and redis.call('ZSCORE', KEYS[1], token)
end

-- The end of the lease that ends first (0) or last (-1); nil: nobody holds it. One without an end
-- counts as a year's.
local function lease_end(at)
    local found = redis.call('ZRANGE', KEYS[1], at, at, 'WITHSCORES')[2]
    return found and math.min(tonumber(found), now_ms + YEAR_MS)
end

-- In how many ms the next lease may end; -1: not known.
local function next_end()
    if stranger then return redis.call('PTTL', KEYS[1]) end
    local first = lease_end(0)
    return first and first - now_ms or -1
end

local function hold(token, ms)
    redis.call('ZADD', KEYS[1], now_ms + ms, token)
    redis.call('PEXPIREAT', KEYS[1], lease_end(-1))
end

-- What is taken of the capacity. A writer is alone.
local function taken()
    if stranger then return math.huge end
    local sum = redis.call('ZCARD', KEYS[1])
    if capacity < math.huge or sum == 1 then
        sum = 0
        for _, token in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do sum = sum + weight(token) end
    end
    return sum
end

local function fits(token, used)
    local want = weight(token)
    if want == math.huge then return used == 0 end
    return used < math.huge and used + want <= capacity
end

-- To be called first: ends what is over. What was handed on and not taken up in time (its '!' is still
-- there) shows a dead or stopped process: its beat is forgotten, so that all its entries are passed
-- over. Unless it is the one that asks: that one lives. When the last lease ends Redis drops the key,
-- so somebody who waits for no key has missed its end.
local function purge(asking)
    local over = {}
    if there == 'zset' then
        over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms)
    elseif there == 'none' and redis.call('EXISTS', KEYS[3]) == 1 and may_be_of(KEYS[2], family) then
        for _, field in ipairs(in_beats('HKEYS')) do
            if string.sub(field, 1, 1) == '!' then table.insert(over, string.sub(field, 2)) end
        end
    end
    for _, token in ipairs(over) do
        local who = process(token)
        redis.call('ZREM', KEYS[1], token)
        if in_beats('HDEL', '!' .. token) == 1 and who ~= process(asking) then
            in_beats('HDEL', who)
        end
    end
end

-- Hands shares to the waiters in their order, up to the first one that does not fit. A waiter that
-- wants more than there is at all is passed over, and keeps its place. Each holds its share from now
-- on, for the claim window, and is woken to ask, which takes the share up; `asking` asks already.
-- Waiters whose process is dead are removed from the queue.
-- Hands on to at most `most` waiters (nil: HAND_MAX), because all must ask within the claim window.
-- Each waiter that takes up a share hands on to one more, and heartbeats hand on to more.
-- Returns whether a waiter is left that must not be overtaken.
local function hand_on(claim_ms, asking, most)
    local at, used, left = 0, nil, most or HAND_MAX
    while true do
        local token = in_queue('LINDEX', at)
        if not token or not used and not may_be_of(KEYS[2], family) then return false end
        used = used or taken()
        local who, want, alive = process(token), weight(token), lives(token, asking or '')
        if alive and want < math.huge and want > capacity and used < capacity then
            at = at + 1
        elseif alive and (left == 0 or not fits(token, used)) then
            return true
        else
            in_queue('LREM', 1, token)
            if alive and not has(token) then
                hold(token, claim_ms)
                used, left = used + want, left - 1
                if token ~= asking then
                    in_beats('HSET', '!' .. token, 1)
                    -- A hint: where it is lost, the next heartbeat tells of the share.
                    redis.pcall('PUBLISH', KEYS[5] .. who, token)
                end
            end
        end
    end
end
