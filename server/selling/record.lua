-- Records the order of one buyer, or only checks whether it may be recorded: for strategies that take the
-- units in one command and record the order in another (read_then_write.h). If this refuses, it puts the
-- units back; if it never runs, they are lost.
--
-- Begins with state.lua, which explains KEYS and ARGV 1 to 4.
-- ARGV  5 "<fence> <instance>" for the record
--       6 request  7 user  8 units  9 not_after in us of Redis's clock
--       10 the required sum of units left and ordered, "" = any
--       11 units left, for the record; "" = only check, and write nothing
--
-- Reply units left, if it only checks; or the order's record; or a refusal: "=" and the earlier record,
-- "closed", "epoch", "damaged <key>", "rolled_back <highest order number>", "void", "late",
-- "limit", "NOPERM <what>".
local units = tonumber(ARGV[8])
local time = ask('time', try('TIME'))
local now = time and time[1] * 1000000 + time[2]
local had = ask('orders', try('HGET', KEYS[4], ARGV[6]))
local has = limit and ask('users', try('HGET', KEYS[6], ARGV[7]))
has = has and number_of(has, 'users') or 0
if sold and not canonical(string.format('%.0f', sold + units)) then fault('sold') end
if ARGV[10] ~= '' and left and sold and left + sold ~= tonumber(ARGV[10]) then fault('stock') end
may('INCRBY', KEYS[2], units) -- so that they can be put back
may('HSET', KEYS[4], ARGV[6], '')
may('INCRBY', KEYS[3], units)
may('RPUSH', KEYS[5], ARGV[6])
if limit then may('HSET', KEYS[6], ARGV[7], units) end

local refused
if had == '-' then refused = 'void'
elseif had then refused = misplaced(ARGV[6], had) or '=' .. had
elseif denied then refused = denied.err
elseif refusal() then refused = refusal()
elseif now > tonumber(ARGV[9]) then refused = 'late'
elseif limit and has + units > limit then refused = 'limit'
end
if ARGV[11] == '' then return refused or left end
if refused then
    if left or denied then redis.pcall('INCRBY', KEYS[2], units) end
    return refused
end

local record = number + 1 .. ' ' .. ARGV[7] .. ' ' .. ARGV[8] .. ' ' .. ARGV[11] .. ' ' .. ARGV[5]
    .. ' ' .. string.format('%.0f', now) .. ' ' .. string.sub(ARGV[4], 1, 12) .. ' sold'
redis.call('HSET', KEYS[4], ARGV[6], record)
redis.call('INCRBY', KEYS[3], units)
redis.call('RPUSH', KEYS[5], ARGV[6])
if limit then redis.call('HSET', KEYS[6], ARGV[7], has + units) end
return record
