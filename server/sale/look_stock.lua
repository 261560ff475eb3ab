-- What stands in a segment of a sale, or in the only one. Begins with state.lua.
-- ARGV  5 units there were at first, "" = stock and orders may differ
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; what is damaged, "" = nothing; orders;
--       units left, units ordered, -1 = no number; the epochs, "" = none; fields and values of lost}
if denied then return denied end
if ARGV[5] ~= '' and left and sold and left + sold ~= tonumber(ARGV[5]) then fault('stock') end
local pointer = current ~= '' and current or redis.call('EXISTS', KEYS[1]) == 1 and '?' or ''
local lost = redis.call('TYPE', KEYS[8]).ok == 'hash' and redis.call('HGETALL', KEYS[8]) or {}
return {pointer, damaged or '', number, left or -1, sold or -1, epochs or '', lost}
