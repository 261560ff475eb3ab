-- What stands in a segment of a sale, or in the only one. Begins with state.lua.
-- ARGV  4 units there were at first, "" = stock and orders may differ
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; what is damaged, "" = nothing; orders;
--       us of this server's clock; units left, units ordered, -1 = no number}
if denied then return denied end
if ARGV[4] ~= '' and left and sold and left + sold ~= tonumber(ARGV[4]) then fault('stock') end
local pointer = current ~= '' and current or redis.call('EXISTS', KEYS[1]) == 1 and '?' or ''
local time = redis.call('TIME')
return {pointer, damaged or '', number, time[1] * 1000000 + time[2],
        left or -1, sold or -1}
