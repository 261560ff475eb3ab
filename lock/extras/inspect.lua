-- KEYS  1..3 as in fair.lua
-- Reply {owner or '', ms to live (-2: free), fence, waiters}
local kind = redis.call('TYPE', KEYS[1]).ok
local has = ''
if kind == 'string' then
    has = redis.call('GET', KEYS[1])
elseif kind == 'hash' then
    has = redis.call('HKEYS', KEYS[1])[1]
end
local waiters = redis.pcall('LLEN', KEYS[3]) -- another type is as good as nothing
return {has, redis.call('PTTL', KEYS[1]), redis.call('MGET', KEYS[2])[1] or '0',
    type(waiters) == 'number' and waiters or 0}
