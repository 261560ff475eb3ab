-- Reads a segment of a sale, or its only one. Begins with state.lua and reserved.lua.
-- ARGV  5 initial units, "" = stock and orders may differ
--       6 "<epoch> <place> ...": the last move that the caller has seen in each epoch
-- KEYS  the last one is the sale's lost orders
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; what is damaged, "" = nothing; orders;
--       units left, units sold, -1 = no number; units reserved; the epochs, "" = none; fields and values of
--       lost; 1 = units of expired reservations must return, 0 = none; how many known moves are missing; the
--       place of the last confirm or cancel, and its epoch, "-" = none}
local ADDED_MOST = 2000 -- buckets whose units a look sums
if denied then return denied end
if ARGV[5] ~= '' and left and sold and left + sold + reserved ~= tonumber(ARGV[5]) then fault('stock') end
local pointer = current ~= '' and current or redis.call('EXISTS', KEYS[1]) == 1 and '?' or ''
local lost = redis.call('TYPE', KEYS[#KEYS]).ok == 'hash' and redis.call('HGETALL', KEYS[#KEYS]) or {}
local due, missing, settled, settled_epoch = 0, 0, 0, ''
if held then
    local first = (ask('buckets', try('ZRANGEBYSCORE', KEYS[9], '-inf', '+inf', 'LIMIT', 0, 1)) or {})[1]
    local kept = check_buckets()
    if first and not canonical(first) then fault('buckets') end
    local moves = ask('moves', try('LLEN', KEYS[10])) or 0
    if not damaged and kept <= ADDED_MOST then
        local all, sum = redis.call('HGETALL', KEYS[8]), 0
        for i = 1, #all, 2 do
            if string.find(all[i], '^%d') then sum = sum + (number_of(all[i + 1], 'reserved') or 0) end
        end
        if sum ~= reserved then fault('reserved') end
    end
    settled, settled_epoch = string.match(settled_last or '0 -', '^(%d+) (%S+)$')
    settled = tonumber(settled)
    if settled > moves then settled = 0 end -- a missing move must not be remembered
    due = not damaged and first and present(redis.call('TIME')) >= first * BUCKET_US and 1 or 0
end
for epoch, place in string.gmatch(ARGV[6], '(%x+) (%d+) ') do
    local move = ask('moves', try('LRANGE', KEYS[10], place - 1, place - 1)) or {}
    if string.sub(move[1] or '', -#epoch) ~= epoch then missing = missing + 1 end
end
if denied then return denied end
return {pointer, damaged or '', number, left or -1, sold or -1, reserved, epochs or '', lost, due, missing, settled,
    settled_epoch}
