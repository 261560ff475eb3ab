-- A shelf's numbers, all of the same moment.
-- KEYS  1 stock  2 sold  3 ledger  4 orders
-- Reply {units left, units ordered, orders}, {} when something of the sale is missing
local left, sold = tonumber(redis.call('GET', KEYS[1])), tonumber(redis.call('GET', KEYS[2]))
local orders = redis.call('LLEN', KEYS[3])
if not left or not sold or sold > 0 and (orders == 0 or redis.call('EXISTS', KEYS[4]) == 0) then
    return {}
end
return {left, sold, orders}
