-- sell.lua - one sale with all that the service keeps of it: the peer of equal work.
-- KEYS: 1 the current sale, 2 units left, 3 units sold, 4 orders by request, 5 the ledger
-- ARGV: 1 request id, 2 user
-- Reply: the order; "=" and the order, had the request one already; "closed"; "sold_out"
local now_on, left, sold = unpack(redis.call('MGET', KEYS[1], KEYS[2], KEYS[3]))
local before = redis.call('HGET', KEYS[4], ARGV[1])
if before then return '=' .. before end
if now_on ~= 's1' then return 'closed' end
left, sold = tonumber(left), tonumber(sold)
if left < 1 then return 'sold_out' end
local time = redis.call('TIME')
local number = redis.call('LLEN', KEYS[5]) + 1
local order = number .. ' ' .. ARGV[2] .. ' 1 ' .. (left - 1) .. ' 0 i1 ' .. time[1] .. time[2]
redis.call('DECRBY', KEYS[2], 1)
redis.call('INCRBY', KEYS[3], 1)
redis.call('HSET', KEYS[4], ARGV[1], order)
redis.call('RPUSH', KEYS[5], ARGV[1])
return order
