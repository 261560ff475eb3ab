-- One page of the ledger: request ids with their orders.
-- KEYS  1 ledger  2 orders
-- ARGV  1 first  2 last, counted from 0
-- Reply {request, record, request, record, ...}
local requests = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[2])
if #requests == 0 then return {} end
local records = redis.call('HMGET', KEYS[2], unpack(requests))
local page = {}
for i, request in ipairs(requests) do
    page[#page + 1] = request
    page[#page + 1] = records[i] or ''
end
return page
