-- Shared beginning of the scripts that sell, record and count: reads one segment's state, and
-- whether keys of it have been lost. What has been sold must be in the ledger, in the orders and,
-- where users have a limit, in their numbers. (What a missing stock means is for each script.)
--
-- KEYS  1 the item's current sale  2 stock  3 sold  4 orders  5 ledger  6 users
-- ARGV  1 the sale  2 units a user may have, 0 = any
local current, left, sold = unpack(redis.call('MGET', KEYS[1], KEYS[2], KEYS[3]))
left, sold = tonumber(left), tonumber(sold)
local limit, number = tonumber(ARGV[2]), redis.call('LLEN', KEYS[5])
local damaged = not sold or sold > 0 and (number == 0 or redis.call('EXISTS', KEYS[4]) == 0)
local function users_lost()
    return limit > 0 and sold > 0 and redis.call('EXISTS', KEYS[6]) == 0
end
