-- Fragment: the server's clock, fences, and the user's rights.

-- The error to reply if this user may not call the command; nil: it may. To be checked before a
-- write that would stay forever without the command.
local function may_not(...)
    if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
        return redis.error_reply('NOPERM this user may not ' .. (...))
    end
end

-- Microseconds since 1970; the same all through a script.
local clock_us
local function clock()
    if not clock_us then
        local time = redis.call('TIME')
        clock_us = time[1] * 1000000 + time[2]
    end
    return clock_us
end

-- Whether this acquire arrives after the moment in its last argument (0 = none). Then nobody waits
-- for the reply any more, and the lock would be held for a lease without a use.
local function late()
    local limit = tonumber(ARGV[#ARGV])
    return limit > 0 and clock() > limit
end

-- A counter must outlive the grants whose fences it issued, or they would count as stale. So it lives
-- a day longer than the lease; each renewal extends it, and none shortens it: of several holders,
-- another one may have a longer lease. The number of a semaphore's permits lives as long.
local FENCE_MS = 86400000
local function life(key, lease_ms)
    return math.max(FENCE_MS + lease_ms, redis.call('PTTL', key))
end

local function keep_fences(first, last, lease_ms)
    for i = first, last do
        redis.call('PEXPIRE', KEYS[i], life(KEYS[i], lease_ms))
    end
end

-- What stands at a fence counter: "NUMBER FAMILY TOKEN": the fence that was issued last, the family of
-- kinds, and the token it was issued to. nil: nothing, or something else; both count as lost. (Lua's
-- numbers are exact up to 2^53.)
-- FAMILY  s: STRING and FAIR, h: HASH, r: READ and WRITE, p: SEMAPHORE
local words = {} -- as far as they were read, or written, in this script
local function word_of(key)
    local word = words[key] or redis.call('MGET', key)[1] or ''
    words[key] = word
    return word
end

local function record(key)
    local number, family, token = string.match(word_of(key), '^(%d+) (%l) (.*)$')
    number = tonumber(number)
    return number and number < 9e15 and {number = number, family = family, token = token} or nil
end

-- The fence that was issued last. nil: none was.
local function issued(key)
    local number = tonumber((string.match(word_of(key), '^(%d+) %l ')))
    return number and number > 0 and number < 9e15 and number or nil
end

local function keep_record(key, number, family, token, lease_ms)
    words[key] = string.format('%.0f %s %s', number, family, token)
    redis.call('SET', key, words[key], 'PX', life(key, lease_ms))
end

-- Issues the next fence into the keys named, the same to all: above every earlier one, and never
-- below the server's clock, so that a lost counter does not start again at 1.
-- A token that has the lock already (`mine`) gets the fence that was issued to it: if a request comes
-- twice, the second one must not make the first one's fence stale.
-- Returns fence and clock.
local function next_fence(first, last, lease_ms, family, token, mine)
    local known = mine and first <= last and record(KEYS[first])
    if known and known.token == token then
        keep_fences(first, last, lease_ms)
        return known.number, clock()
    end
    local fence = clock()
    for i = first, last do
        local stored = issued(KEYS[i]) or 0
        if stored >= fence then fence = stored + 1 end
    end
    for i = first, last do keep_record(KEYS[i], fence, family, token, lease_ms) end
    return fence, clock()
end

-- Whether the waiters for the name may be of this family; false: they are of another one.
local function may_be_of(counter, family)
    local last = record(counter)
    return not last or last.family == family
end

-- Marks the name as the family's, before a token of it is queued or holds without a fence of its own.
local function claim(counter, family, lease_ms)
    local last = record(counter)
    if last and last.family == family then return end
    keep_record(counter, last and last.number or 0, family, '-', lease_ms)
end

-- Whether somebody waits in a queue: it exists, and one of its processes beats. Dead waiters do not
-- keep other families from the name.
local STALE_MS = 2000 -- without a heartbeat
local function waits(queue, beats)
    if redis.call('EXISTS', queue) == 0 then return false end
    for _, word in ipairs(redis.pcall('HGETALL', beats)) do
        if (tonumber(word) or 0) >= clock() / 1000 - STALE_MS then return true end
    end
    return false
end

-- The reply to an acquire that finds the lock taken: {0, ms left, last fence issued, 1: the holder is
-- of another library, as far as that matters to the family}. Or an error: another family of kinds
-- holds the name, or waits in `queue` (nil: waiters do not matter). `has` is the token at the name,
-- if the caller knows it.
local function refusal(name, counter, family, queue, beats, ms_left, has)
    local last = record(counter) or {number = 0, family = family}
    local same = last.family == family
    if same and (family ~= 's' or has and has == last.token) then
        return {0, ms_left or redis.call('PTTL', name), last.number, 0}
    end
    local kind = redis.call('TYPE', name).ok
    local known = kind == 'zset' and (last.family == 'r' or last.family == 'p')
        or kind == 'string' and redis.call('GET', name) == last.token
        or kind == 'hash' and last.token and redis.call('HEXISTS', name, last.token) == 1
    if not same and (known or queue and waits(queue, beats)) then
        local uses = {s = 'a lock of kind STRING or FAIR', h = 'a lock of kind HASH',
            r = 'a read/write lock', p = 'a semaphore'}
        return redis.error_reply('WRONGKIND this name is in use as ' .. (uses[last.family] or '?'))
    end
    local foreign = not known and kind ~= 'none'
    return {0, ms_left or redis.call('PTTL', name), last.number, foreign and 1 or 0}
end
