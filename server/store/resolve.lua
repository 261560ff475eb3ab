-- Finds a request's order in one segment; or, if there is none, declares the request void there, so that
-- the selling scripts refuse it from now on. Writes nothing in a sale that is over or damaged.
--
-- Begins with state.lua and reserved.lua, which explain KEYS and ARGV 1 to 4.
-- ARGV  5 request  6 "" = only look, or the most void requests. Field "#void" counts them, apart from the
--       marks of buyers who went on to another segment
--       7 "" = unknown, or the us of Redis's clock after which no try makes an order
-- Reply the record, "-" = void, "past" = no order, and that time has passed, "" = no order (yet), "closed"
-- = no order, and the sale is not the current one, or "damaged <key>"
local record = ask('orders', try('HGET', KEYS[4], ARGV[5]))
local voids = 0
if ARGV[6] ~= '' then
    voids = number_of(ask('orders', try('HGET', KEYS[4], '#void')) or '0', 'orders')
    may('HSET', KEYS[4], ARGV[5], '-')
end
local wrong = record and record ~= '-' and record ~= '>' and misplaced(ARGV[5], record)
if denied then return denied end
if wrong then return wrong end
if record and record ~= '>' then
    local time = held and ask('time', try('TIME'))
    return denied or told(record, time)
end
if damaged then return damaged end
if current ~= ARGV[1] then -- a halted sale, "<sale> <why> ...", may be resumed
    return string.find(current, ARGV[1] .. ' ', 1, true) == 1 and '' or 'closed'
end
if ARGV[7] ~= '' then
    local time = ask('time', try('TIME'))
    if denied then return denied end
    return time[1] * 1000000 + time[2] > tonumber(ARGV[7]) and 'past' or ''
end
if ARGV[6] == '' or not record and voids >= tonumber(ARGV[6]) then return '' end
redis.call('HSET', KEYS[4], ARGV[5], '-', '#void', string.format('%.0f', voids + 1))
return '-'
