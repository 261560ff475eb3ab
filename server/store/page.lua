-- One page of the ledger: request ids with their orders. Begins with state.lua and reserved.lua, which explain KEYS and
-- ARGV 1 to 4.
-- ARGV  5 first  6 last place, counted from 0, or from the end if negative
-- Reply {request, record, request, record, ...}, or "damaged <key>", also if a record's number is not
--       its place
if denied then return denied end
if damaged then return damaged end
local requests = redis.call('LRANGE', KEYS[5], ARGV[5], ARGV[6])
if #requests == 0 then return {} end
local names = {}
for i, entry in ipairs(requests) do names[i] = string.match(entry, '^%S+') or '' end
local records = redis.call('HMGET', KEYS[4], unpack(names))
local time = held and ask('time', try('TIME'))
if denied then return denied end
local page, first = {}, tonumber(ARGV[5])
if first < 0 then first = math.max(number + first, 0) end
for i = 1, #requests do
    local place = string.match(records[i] or '', '^%d+')
    if canonical(place) ~= first + i then return 'damaged orders' end
    page[#page + 1] = names[i]
    page[#page + 1] = told(records[i], time)
end
return page
