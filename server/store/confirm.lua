-- Writes a request's order or mark again, unchanged: WAIT covers only the connection's own writes, so
-- without this it would not cover an order that another connection has written. If there is none, a string
-- of the sale is written again instead: its stock, or, if the sale is over, the pointer.
-- KEYS  1 orders, or the string
-- ARGV  1 request; none: KEYS 1 is the string
-- Reply 1, or 0 = there is nothing, and nothing was written
local request = ARGV[1]
local now = request and redis.pcall('HGET', KEYS[1], request) or redis.pcall('GET', KEYS[1])
if type(now) ~= 'string' then return 0 end
if request then redis.call('HSET', KEYS[1], request, now) else redis.call('SET', KEYS[1], now, 'KEEPTTL') end
return 1
