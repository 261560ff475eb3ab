-- Writes what stands in a request's place once more, as it is: WAIT counts from the connection's own last
-- write, and whoever told of an order that another connection has written would wait for nothing. Where
-- nothing stands there, the stock is written once more instead.
-- KEYS  1 orders, or the stock
-- ARGV  1 request; none: KEYS 1 is the stock
-- Reply 1, or 0 = there is nothing, and nothing was written
local request = ARGV[1]
local now = request and redis.pcall('HGET', KEYS[1], request) or redis.pcall('GET', KEYS[1])
if type(now) ~= 'string' then return 0 end
if request then redis.call('HSET', KEYS[1], request, now) else redis.call('INCRBY', KEYS[1], 0) end
return 1
