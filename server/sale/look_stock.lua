-- What stands in a segment of a sale, or in the only one. Begins with state.lua.
-- ARGV  5 units there were at first, "" = stock and orders may differ
-- KEYS  the last one is the sale's lost orders
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; what is damaged, "" = nothing; orders;
--       units left, units sold, -1 = no number; units reserved; the epochs, "" = none; fields and values of
--       lost; 1 = reservations are over whose units are to be returned, 0 = none}
if denied then return denied end
if not adds_up(ARGV[5]) then fault('stock') end
local pointer = current ~= '' and current or redis.call('EXISTS', KEYS[1]) == 1 and '?' or ''
local lost = redis.call('TYPE', KEYS[#KEYS]).ok == 'hash' and redis.call('HGETALL', KEYS[#KEYS]) or {}
local first = held and ask('buckets', try('ZRANGEBYSCORE', KEYS[9], '-inf', '+inf', 'LIMIT', 0, 1)) or {}
local due = first[1] and present(redis.call('TIME')) >= first[1] * 100000 and 1 or 0
if held then ask('moves', try('LLEN', KEYS[10])) end
return {pointer, damaged or '', number, left or -1, sold or -1, reserved, epochs or '', lost, due}
