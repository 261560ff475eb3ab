-- Who holds a lock, whatever its kind. Shares whose lease has ended do not count.
-- KEYS  1..3 as in fair.lua, 4 number of permits
-- ARGV  1 how many holders to list at most
-- Reply {last fence issued or '0', waiters, permits or -1, taken, holders, {of each its token or '', ms to
--       live (-1: no end) and permits; those first whose lease ends first}}
local key = KEYS[1]
local kind = redis.call('TYPE', key).ok
local permits = (kind == 'zset' or kind == 'none') and redis.call('MGET', KEYS[4])[1] or ''
permits = string.find(permits, '^%d+$') and tonumber(permits)
local count, taken, told = 0, 0, {}

local function tell(token, left, weight)
    count = count + 1
    if count > tonumber(ARGV[1]) then return end
    for _, word in ipairs({token, left, weight}) do
        table.insert(told, word)
    end
end

if kind == 'zset' then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local shares = redis.call('ZRANGE', key, string.format('(%.0f', now), '+inf', 'BYSCORE',
        'WITHSCORES')
    for i = 1, #shares, 2 do
        local ending = string.match(shares[i], '%*(%w+)$') -- *w: a writer, *K: K permits
        local weight = ending == 'w' and 0 or tonumber(string.match(ending or '', '^%d+$')) or 1
        if weight == 0 then permits = nil end
        taken = taken + weight
        local left = shares[i + 1] - now
        tell(shares[i], left < 2^53 and left or -1, weight)
    end
elseif kind ~= 'none' then
    local token = ''
    if kind == 'string' then
        token = redis.call('GET', key)
    elseif kind == 'hash' and redis.call('HEXISTS', key, 'round') == 0 then -- with it: a latch
        token = redis.call('HKEYS', key)[1]
    end
    tell(token, redis.call('PTTL', key), 0)
end
local waiters = redis.pcall('LLEN', KEYS[3]) -- another type is as good as nothing
local word = redis.call('MGET', KEYS[2])[1] or ''
return {string.match(word, '^(%d+) ') or '0', type(waiters) == 'number' and waiters or 0,
    permits or -1, permits and taken or 0, count, told}
