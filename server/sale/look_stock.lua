-- What stands in a segment of a sale, or in the only one. Begins with state.lua.
-- ARGV  5 units there were at first, "" = stock and orders may differ
--       6 "<epoch> <place> ...": moves that the caller has seen, the last one under each epoch
-- KEYS  the last one is the sale's lost orders
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; what is damaged, "" = nothing; orders;
--       units left, units sold, -1 = no number; units reserved; the epochs, "" = none; fields and values of
--       lost; 1 = reservations are over whose units are to be returned, 0 = none; how many of the moves that
--       were seen are not there; moves, and the epoch of the last one, "" = there is none, or
--       it would be made again}
if denied then return denied end
if not adds_up(ARGV[5]) then fault('stock') end
local pointer = current ~= '' and current or redis.call('EXISTS', KEYS[1]) == 1 and '?' or ''
local lost = redis.call('TYPE', KEYS[#KEYS]).ok == 'hash' and redis.call('HGETALL', KEYS[#KEYS]) or {}
local first = held and ask('buckets', try('ZRANGEBYSCORE', KEYS[9], '-inf', '+inf', 'LIMIT', 0, 1)) or {}
if first[1] and not canonical(first[1]) then fault('buckets') end
local due = not damaged and first[1] and present(redis.call('TIME')) >= first[1] * 100000 and 1 or 0
local kept = held and ask('buckets', try('ZCARD', KEYS[9]))
if kept and kept ~= (ask('reserved', try('HLEN', KEYS[8])) or 0) - 2 then fault('buckets') end
local moves, missing = held and ask('moves', try('LLEN', KEYS[10])) or 0, 0
local latest = moves > 0 and redis.call('LRANGE', KEYS[10], -1, -1)[1] or ''
latest = string.sub(latest, 1, 8) ~= 'expired ' and string.match(latest, '%x+$') or ''
for epoch, place in string.gmatch(ARGV[6], '(%x+) (%d+) ') do
    local move = ask('moves', try('LRANGE', KEYS[10], place - 1, place - 1)) or {}
    if string.sub(move[1] or '', -#epoch) ~= epoch then missing = missing + 1 end
end
return {pointer, damaged or '', number, left or -1, sold or -1, reserved, epochs or '', lost, due, missing, moves,
    latest}
