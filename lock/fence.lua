-- Fragment: issues the next fence into the keys named, the same to all: above every earlier one,
-- and never below the server's clock, so that a lost counter does not start again at 1.
-- To one who has the lock already (`mine`) the last one is told again: a question that comes twice,
-- the second time late, must not make the fence stale that was given to the first.
-- Returns fence and clock, both in microseconds since 1970.
local function next_fence(first, last, mine)
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local issued = mine and first <= last and redis.call('GET', KEYS[first])
    if issued then return tonumber(issued), now end
    local fence = now
    for i = first, last do
        local stored = tonumber(redis.call('GET', KEYS[i]) or 0)
        if stored >= fence then fence = stored + 1 end
    end
    for i = first, last do
        redis.call('SET', KEYS[i], string.format('%.0f', fence), 'PX', 86400000)
    end
    return fence, now
end
