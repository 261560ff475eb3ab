-- Writes what stands in a request's place once more, as it is: WAIT counts from the connection's own last
-- write, and whoever told of an order that another connection has written would wait for nothing. Where
-- nothing stands there, a text of the sale is written once more instead: its stock, or, when it is over,
-- the pointer.
-- KEYS  1 orders, or the text
-- ARGV  1 request; none: KEYS 1 is the text
-- Reply 1, or 0 = there is nothing, and nothing was written
local request = ARGV[1]
local now = request and redis.pcall('HGET', KEYS[1], request) or redis.pcall('GET', KEYS[1])
if type(now) ~= 'string' then return 0 end
if request then redis.call('HSET', KEYS[1], request, now) else redis.call('SET', KEYS[1], now, 'KEEPTTL') end
return 1
