-- take.lua - the small script that most people write: seen before? any left? take one, note it.
-- KEYS: 1 units left, 2 orders by request
-- ARGV: 1 request id, 2 the order
-- Reply: "ok"; the order, had the request one already; "sold_out"
local before = redis.call('hget', KEYS[2], ARGV[1])
if before then return before end
local left = tonumber(redis.call('get', KEYS[1]) or '0')
if left < 1 then return 'sold_out' end
redis.call('set', KEYS[1], left - 1)
redis.call('hset', KEYS[2], ARGV[1], ARGV[2])
return 'ok'
