-- Records the order of a buyer whose stock was taken in a step before: the second half of the
-- strategies that read, check and write. That it is a second half is their flaw: what was taken is
-- put back when this refuses, and lost when this never runs.
--
-- Begins with state.lua, which tells KEYS and ARGV 1 to 3.
-- ARGV  4 "<fence> <instance>" for the record
--       5 request  6 user  7 units  8 not_after in us of Redis's clock  9 units left
--
-- Reply the order's record, "=" and the record it had before, or "closed", "damaged <key>",
-- "rolled_back <highest order number>", "void", "late", "limit".
local units = tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local had = ask('orders', 'HGET', KEYS[4], ARGV[5])
local has = limit > 0 and ask('users', 'HGET', KEYS[6], ARGV[6])
has = has and number_of(has, 'users') or 0
may('HSET', KEYS[4], ARGV[5], '')
may('INCRBY', KEYS[3], units)
may('RPUSH', KEYS[5], ARGV[5])
if limit > 0 then may('HSET', KEYS[6], ARGV[6], units) end

local refused
if had == '-' then refused = 'void'
elseif had then refused = '=' .. had
elseif denied then refused = denied
elseif refusal() then refused = refusal()
elseif now > tonumber(ARGV[8]) then refused = 'late'
elseif limit > 0 and has + units > limit then refused = 'limit'
end
if refused then
    -- A Redis that has forgotten orders may have forgotten that these units were taken, too.
    if left and tonumber(ARGV[3]) <= number then redis.pcall('INCRBY', KEYS[2], units) end
    return refused
end

local record = number + 1 .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. ARGV[9] .. ' ' .. ARGV[4]
    .. ' ' .. string.format('%.0f', now)
redis.call('HSET', KEYS[4], ARGV[5], record)
redis.call('INCRBY', KEYS[3], units)
redis.call('RPUSH', KEYS[5], ARGV[5])
if limit > 0 then redis.call('HSET', KEYS[6], ARGV[6], has + units) end
return record
