-- Sells to a number of buyers in the order given, each all or nothing, and records the orders.
-- A request that has an order is answered with it, also when the sale is over. Everything is decided
-- before the first write.
--
-- Begins with state.lua, which tells KEYS and ARGV 1 and 2.
-- ARGV  3 "<fence> <instance>" for the records
--       4 "1": a buyer refused here asks the next segment, so leave a mark if less would do
--       5 units there were at first
--       then four a buyer: request, user, units, not_after in us of Redis's clock
--
-- Reply {"damaged"} when something of the sale is missing, or {units left, one answer a buyer ...}.
-- An answer is the new order's record, "=" and the record it had before, or "sold_out", "limit",
-- "late", "void", "closed".
local open = current == ARGV[1]
if open and (damaged or users_lost() or not left or left + sold ~= tonumber(ARGV[5])) then
    return {'damaged'}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tail = ' ' .. ARGV[3] .. ' ' .. string.format('%.0f', now)

local requests = {}
for i = 6, #ARGV, 4 do requests[#requests + 1] = ARGV[i] end
local known = redis.call('HMGET', KEYS[4], unpack(requests))

local before = left
local fresh, has, records, ids, answers = {}, {}, {}, {}, {}
local function write(request, record)
    fresh[request] = record
    records[#records + 1] = request
    records[#records + 1] = record
end

for i, request in ipairs(requests) do
    local user, units = ARGV[i * 4 + 3], tonumber(ARGV[i * 4 + 4])
    local record = known[i] or fresh[request]
    if limit > 0 and not has[user] then
        has[user] = tonumber(redis.call('HGET', KEYS[6], user) or 0)
    end
    local answer
    if record == '-' then answer = 'void'
    elseif record and record ~= '>' then answer = '=' .. record
    elseif not open then answer = 'closed'
    elseif record then answer = 'sold_out'
    elseif now > tonumber(ARGV[i * 4 + 5]) then answer = 'late'
    elseif limit > 0 and has[user] + units > limit then answer = 'limit'
    elseif units > left then
        answer = 'sold_out'
        if ARGV[4] == '1' and left > 0 then write(request, '>') end
    else
        left = left - units
        number = number + 1
        answer = number .. ' ' .. user .. ' ' .. units .. ' ' .. left .. tail
        write(request, answer)
        ids[#ids + 1] = request
        if limit > 0 then has[user] = has[user] + units end
    end
    answers[i + 1] = answer
end

if #records > 0 then redis.call('HSET', KEYS[4], unpack(records)) end
if #ids > 0 then
    redis.call('DECRBY', KEYS[2], before - left)
    redis.call('INCRBY', KEYS[3], before - left)
    redis.call('RPUSH', KEYS[5], unpack(ids))
    if limit > 0 then
        for user, units in pairs(has) do redis.call('HSET', KEYS[6], user, units) end
    end
end
answers[1] = left or -1
return answers
