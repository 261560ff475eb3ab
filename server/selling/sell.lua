-- Sells to a number of buyers in the order given, each all or nothing, and records the orders.
-- A request that has an order is answered with it, also when the sale is over. Everything is decided
-- before the first write.
--
-- Begins with state.lua, which tells KEYS and ARGV 1 to 3.
-- ARGV  4 "<fence> <instance>" for the records
--       5 units of the largest segment: a buyer refused here asks the next one, so leave a mark if
--       any could have sold it. Marks are bounded; beyond that "late". "0": there is no next
--       6 units there were at first
--       then four a buyer: request, user, units, not_after in us of Redis's clock
--
-- Reply {units left, -1 = not known; one answer a buyer ...}. An answer is the new order's record,
-- "=" and the record it had before, or "closed", "damaged <key>",
-- "rolled_back <highest order number>", "sold_out", "limit", "late", "void", "NOPERM <what>".
local time = ask('time', 'TIME')
local now = time and time[1] * 1000000 + time[2] or 0
local tail = ' ' .. ARGV[4] .. ' ' .. string.format('%.0f', now)

local requests, users = {}, {}
for i = 7, #ARGV, 4 do
    requests[#requests + 1] = ARGV[i]
    users[#users + 1] = ARGV[i + 1]
end
local known = ask('orders', 'HMGET', KEYS[4], unpack(requests)) or {}
local has = {}
if limit > 0 then
    for i, units in ipairs(ask('users', 'HMGET', KEYS[6], unpack(users)) or {}) do
        has[users[i]] = canonical(units or '0') or false -- one user's, and nobody else's
    end
end
if left and sold and left + sold ~= tonumber(ARGV[6]) then fault('stock') end
local refused = denied and denied.err or refusal()

local before = left
local fresh, records, ids, answers = {}, {}, {}, {}
local function write(request, record)
    fresh[request] = record
    records[#records + 1] = request
    records[#records + 1] = record
end

for i, request in ipairs(requests) do
    local user, units = users[i], tonumber(ARGV[i * 4 + 5])
    local record = known[i] or fresh[request]
    local answer
    if record == '-' then answer = 'void'
    elseif record and record ~= '>' then answer = '=' .. record
    elseif refused then answer = refused
    elseif record then answer = 'sold_out'
    elseif limit > 0 and not has[user] then answer = 'damaged users'
    elseif now > tonumber(ARGV[i * 4 + 6]) then answer = 'late'
    elseif limit > 0 and has[user] + units > limit then answer = 'limit'
    elseif units > left then
        answer = 'sold_out'
        if left > 0 and units <= tonumber(ARGV[5]) then
            if orders - number + #records / 2 < 40000 then write(request, '>')
            else answer = 'late' end
        end
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
answers[1] = left or -1
if #records == 0 then return answers end

may('HSET', KEYS[4], '', '')
if #ids > 0 then
    may('DECRBY', KEYS[2], 1)
    may('INCRBY', KEYS[3], 1)
    may('RPUSH', KEYS[5], '')
    if limit > 0 then may('HSET', KEYS[6], '', '') end
end
if denied then
    for i, request in ipairs(requests) do
        if not known[i] or known[i] == '>' then answers[i + 1] = denied.err end
    end
    return answers
end

redis.call('HSET', KEYS[4], unpack(records))
if #ids > 0 then
    redis.call('DECRBY', KEYS[2], before - left)
    redis.call('INCRBY', KEYS[3], before - left)
    redis.call('RPUSH', KEYS[5], unpack(ids))
    if limit > 0 then
        for user, units in pairs(has) do
            if units then redis.call('HSET', KEYS[6], user, units) end
        end
    end
end
return answers
