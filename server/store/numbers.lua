-- A segment's numbers, all of the same moment. Begins with state.lua, which explains KEYS and ARGV 1 to 4.
-- ARGV  5 initial units, "" = stock and orders may differ
-- Reply {units left, units sold, units reserved, orders, us of Redis's clock}, or {"damaged <key>"}
local time = ask('time', try('TIME'))
if denied then return denied end
if ARGV[5] ~= '' and left and sold and left + sold + reserved ~= tonumber(ARGV[5]) then fault('stock') end
if damaged then return {damaged} end
return {left, sold, reserved, number, time[1] * 1000000 + time[2]}
