-- Halts the sale of one tag (an item, or a segment of one): until the admin says otherwise nothing is
-- sold. The words of the halt stand where the current sale's id stood, so every selling script refuses.
--
-- KEYS  1 current sale  2 the latest sale ever  3 ledger of the sale to halt  then the keys of an older
--       sale that is not to come back
-- ARGV  1 what stands there, "" = nothing: otherwise nothing is done  2 the sale to halt  3 why
--       4 orders that were known  5 orders found in other tags  6 who halts
--       7 seconds until the older sale's keys expire
-- Reply what stands there then
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return current end
local time = redis.call('TIME')
local here = redis.pcall('LLEN', KEYS[3])
local found = tonumber(ARGV[5]) + (type(here) == 'number' and here or 0)
local words = table.concat({ARGV[2], ARGV[3], string.format('%.0f', math.max(tonumber(ARGV[4]), found)),
    string.format('%.0f', found), ARGV[6], string.format('%.0f', time[1] * 1000000 + time[2])}, ' ')
local latest = redis.call('GET', KEYS[2]) or ''
redis.call('SET', KEYS[1], words)
if latest < ARGV[2] then redis.call('SET', KEYS[2], ARGV[2]) end
for i = 4, #KEYS do redis.call('EXPIRE', KEYS[i], ARGV[7]) end
return words
