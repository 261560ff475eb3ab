-- Fragment: a queue of waiters, and the heartbeats of their processes. Comes after fence.lua.
-- KEYS  3 queue (list of tokens, oldest first),
--       4 beats (hash: process -> ms of its last heartbeat; token -> ms at which it was queued again;
--         and what the fragment behind this one keeps there, under names that begin with '!')
-- Each beat keeps both alive; they are gone a minute after the last one.
local KEEP_MS = 60000
local now_ms = math.floor(clock() / 1000)

-- Both are hints, which heartbeats rebuild. A key of another type there is deleted.
local function at_hint(key, command, ...)
    local reply = redis.pcall(command, key, ...)
    if type(reply) ~= 'table' or not reply.err then return reply end
    if string.find(reply.err, 'WRONGTYPE') then redis.call('DEL', key) end
    return redis.call(command, key, ...)
end

local function in_queue(command, ...)
    return at_hint(KEYS[3], command, ...)
end

local function in_beats(command, ...)
    return at_hint(KEYS[4], command, ...)
end

local function process(token)
    return string.match(token, '^(.*):') or ''
end

local function keep()
    redis.call('PEXPIRE', KEYS[3], KEEP_MS)
    redis.call('PEXPIRE', KEYS[4], KEEP_MS)
end

local function beat(who)
    if in_beats('HSET', who, now_ms) == 1 then keep() end
end

local function enqueue(token)
    if in_queue('RPUSH', token) == 1 then keep() end
end

-- The tokens in the queue, as a set.
local function queued()
    local ret = {}
    for _, token in ipairs(in_queue('LRANGE', 0, -1)) do ret[token] = true end
    return ret
end

-- Queues a token that may arrive before the waiter's first request does. That request does not search
-- the queue, but it looks for this mark. In time the mark is removed like a beat.
local function enqueue_again(token)
    in_beats('HSET', token, now_ms)
    enqueue(token)
end

-- Looks at one entry, and drops it if its process is forgotten: it would count as a waiter until its
-- turn comes.
local function tidy()
    local at = clock() % math.max(in_queue('LLEN'), 1)
    local some = in_queue('LRANGE', at, at)[1]
    if some and in_beats('HEXISTS', process(some)) == 0 then in_queue('LREM', 0, some) end
end

local function is_fresh(ms)
    return ms and math.abs(now_ms - ms) <= STALE_MS
end

-- Whether any process but the one that asks beats.
local others_beat
local function do_others_beat(asking)
    if others_beat ~= nil then return others_beat end
    local all = in_beats('HGETALL')
    others_beat = false
    for i = 1, #all, 2 do
        local who = string.match(all[i], '^(.*):') or all[i]
        others_beat = others_beat or who ~= process(asking) and is_fresh(tonumber(all[i + 1])) or false
    end
    return others_beat
end

-- Whether a waiter's process lives: it beats. Or it has beaten, and no other process beats either,
-- because Redis stood still or its clock was set.
local function lives(token, asking)
    local beaten = tonumber(in_beats('HGET', process(token)) or '')
    return beaten and (is_fresh(beaten) or not do_others_beat(asking))
end
