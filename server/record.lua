-- Records the order of a buyer whose stock was taken in a step before: the second half of the
-- strategies that read, check and write. It knows nothing of the stock, and that is their flaw.
--
-- KEYS  1 the item's current sale  2 sold  3 orders  4 ledger  5 users
-- ARGV  1 the sale  2 units a user may have, 0 = any  3 "<fence> <instance>" for the record
--       4 request  5 user  6 units  7 not_after in us of Redis's clock  8 units left
--
-- Reply the order's record, "=" and the record it had before, or "closed", "void", "late", "limit".
local had = redis.call('HGET', KEYS[3], ARGV[4])
if had == '-' then return 'void' end
if had then return '=' .. had end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'closed' end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[7]) then return 'late' end
local limit, units = tonumber(ARGV[2]), tonumber(ARGV[6])
if limit > 0 and units + tonumber(redis.call('HGET', KEYS[5], ARGV[5]) or 0) > limit then
    return 'limit'
end

local number = redis.call('LLEN', KEYS[4]) + 1
local record = number .. ' ' .. ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. ARGV[8] .. ' ' .. ARGV[3]
    .. ' ' .. string.format('%.0f', now)
redis.call('HSET', KEYS[3], ARGV[4], record)
redis.call('INCRBY', KEYS[2], units)
redis.call('RPUSH', KEYS[4], ARGV[4])
if limit > 0 then redis.call('HINCRBY', KEYS[5], ARGV[5], units) end
return record
