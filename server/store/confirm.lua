-- Writes what stands in a request's place once more, as it is: WAIT counts from the connection's own last
-- write, and whoever told of an order that another connection has written would wait for nothing.
-- KEYS  1 orders
-- ARGV  1 request
-- Reply 1, or 0 = there is nothing, and nothing was written
local record = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(record) ~= 'string' then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], record)
return 1
