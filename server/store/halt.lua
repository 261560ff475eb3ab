-- Halts the sale of one tag (an item, or a segment of one): until the admin says otherwise nothing is
-- sold. The words of the halt stand where the current sale's id stood, so every selling script refuses.
--
-- KEYS  1 current sale  2 the latest sale ever  3 ledger of the sale to halt  4 its cfg  then the keys of
--       an older sale that is not to come back
-- ARGV  1 what stands there, "" = nothing: otherwise nothing is done  2 the sale to halt  3 why
--       4 orders that were known  5 orders found in other tags  6 who halts
--       7 seconds until the older sale's keys expire  8 until when in us of this server's clock
--       9 what the admin had accepted last when it was looked at, "" = not known or not here
-- Reply what stands there then; "late": nothing was done, for the admin may have let it go on since
local function may(...)
    return not redis.acl_check_cmd or redis.acl_check_cmd(...)
end
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return current end
local time = redis.call('TIME')
if time[1] * 1000000 + time[2] > tonumber(ARGV[8]) then return 'late' end
local accepted = redis.pcall('HGET', KEYS[4], 'accepted')
if ARGV[9] ~= '' and type(accepted) == 'string' and accepted ~= ARGV[9] then return 'late' end
local here = redis.pcall('LLEN', KEYS[3])
local found = tonumber(ARGV[5]) + (type(here) == 'number' and here or 0)
local words = table.concat({ARGV[2], ARGV[3], string.format('%.0f', math.max(tonumber(ARGV[4]), found)),
    string.format('%.0f', found), ARGV[6], string.format('%.0f', time[1] * 1000000 + time[2])}, ' ')
local latest = redis.pcall('GET', KEYS[2])
if not (may('SET', KEYS[1], '') and may('SET', KEYS[2], '') and may('EXPIRE', KEYS[3], 1)) then
    return redis.error_reply('NOPERM this user may not halt a sale')
end
redis.call('SET', KEYS[1], words)
if type(latest) ~= 'string' or latest < ARGV[2] then redis.call('SET', KEYS[2], ARGV[2]) end
for i = 5, #KEYS do redis.call('EXPIRE', KEYS[i], ARGV[7]) end
return words
