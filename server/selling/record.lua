-- Records the order of a buyer whose stock was taken in a step before: the second half of the
-- strategies that read, check and write. That it is a second half is their flaw: what was taken is
-- put back when this refuses, and lost when this never runs.
--
-- Begins with state.lua, which tells KEYS and ARGV 1 and 2.
-- ARGV  3 "<fence> <instance>" for the record
--       4 request  5 user  6 units  7 not_after in us of Redis's clock  8 units left
--
-- Reply the order's record, "=" and the record it had before, or "closed", "void", "late", "limit";
-- "damaged" when something of the sale is missing.
local units = tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local had = redis.call('HGET', KEYS[4], ARGV[4])
local has = limit > 0 and tonumber(redis.call('HGET', KEYS[6], ARGV[5]) or 0) or 0

local refusal
if had == '-' then refusal = 'void'
elseif had then refusal = '=' .. had
elseif current ~= ARGV[1] then refusal = 'closed'
elseif damaged or users_lost() then refusal = 'damaged'
elseif now > tonumber(ARGV[7]) then refusal = 'late'
elseif limit > 0 and has + units > limit then refusal = 'limit'
end
if refusal then
    if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('INCRBY', KEYS[2], units) end
    return refusal
end

local record = number + 1 .. ' ' .. ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. ARGV[8] .. ' ' .. ARGV[3]
    .. ' ' .. string.format('%.0f', now)
redis.call('HSET', KEYS[4], ARGV[4], record)
redis.call('INCRBY', KEYS[3], units)
redis.call('RPUSH', KEYS[5], ARGV[4])
if limit > 0 then redis.call('HSET', KEYS[6], ARGV[5], has + units) end
return record
