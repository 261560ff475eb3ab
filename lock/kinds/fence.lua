-- Fragment: the server's clock, and fences; and what this user may not do.

-- The error to reply when this user may not call the command; nil: it may. To be asked before
-- anything is written that would stay for ever without the command.
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

-- Whether this acquire comes after the moment that is its last argument, 0 = none: nobody waits for
-- the reply any more, and the lock would stand for a lease.
local function late()
    local limit = tonumber(ARGV[#ARGV])
    return limit > 0 and clock() > limit
end

-- A counter must outlive the grants whose fences it issued, or they would count as stale: it lives a
-- day longer than a lease, and renewals see to that.
local FENCE_MS = 86400000
local function keep_fences(first, last, lease_ms)
    for i = first, last do
        redis.call('PEXPIRE', KEYS[i], FENCE_MS + lease_ms)
    end
end

-- The fence that was issued last. nil: none was, or what stands there is none; both count as lost.
-- (Lua's numbers are exact up to 2^53.)
local function issued(key)
    local word = redis.call('MGET', key)[1]
    local fence = word and string.find(word, '^[1-9]%d*$') and tonumber(word)
    return fence and fence < 9e15 and fence or nil
end

-- Issues the next fence into the keys named, the same to all: above every earlier one, and never
-- below the server's clock, so that a lost counter does not start again at 1.
-- To one who has the lock already (`mine`) the last one is told again: a question that comes twice,
-- the second time late, must not make the fence stale that was given to the first.
-- Returns fence and clock.
local function next_fence(first, last, lease_ms, mine)
    local again = mine and first <= last and issued(KEYS[first])
    if again then
        keep_fences(first, last, lease_ms)
        return again, clock()
    end
    local fence = clock()
    for i = first, last do
        local stored = issued(KEYS[i]) or 0
        if stored >= fence then fence = stored + 1 end
    end
    for i = first, last do
        redis.call('SET', KEYS[i], string.format('%.0f', fence), 'PX', FENCE_MS + lease_ms)
    end
    return fence, clock()
end
