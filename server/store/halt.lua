-- Halts the sale of one tag (an item or a segment): nothing is sold until the admin decides. The halt
-- replaces the current sale's id, so every selling script refuses. What each process knows to be lost is
-- merged: of an epoch the highest number that any process has seen.
--
-- KEYS  1 current sale  2 the latest sale ever  3 ledger of the sale to halt  4 its epochs  5 its lost
--       orders  then the keys of an older sale that must not return
-- ARGV  1 the expected pointer, "" = none; if it differs, nothing is done  2 the sale to halt  3 why
--       4 the expected epochs, "" = none, "*" = any; likewise, because the admin may have resumed it
--       5 orders found in other tags  6 the halting instance  7 seconds until the older sale's keys expire
--       then, for each epoch with lost orders: the epoch, the last number left, the last number seen
-- Reply the halt; "late": nothing was done, because something has changed meanwhile
local function may(...)
    return not redis.acl_check_cmd or redis.acl_check_cmd(...)
end
local epochs = redis.pcall('GET', KEYS[4])
epochs = type(epochs) == 'string' and epochs or ''
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] or ARGV[4] ~= '*' and epochs ~= ARGV[4] then
    return 'late'
end
local latest = redis.pcall('GET', KEYS[2])
if not (may('SET', KEYS[1], '') and may('SET', KEYS[2], '') and may('EXPIRE', KEYS[3], 1)
        and may('HSET', KEYS[5], '', '')) then
    return redis.error_reply('NOPERM this user may not halt a sale')
end
if redis.call('TYPE', KEYS[5]).ok ~= 'hash' then redis.call('DEL', KEYS[5]) end
local function range(words) return string.match(words or '', '^(%d+) (%d+)$') end
for i = 8, #ARGV, 3 do
    local accepted, last = range(redis.call('HGET', KEYS[5], ARGV[i]))
    accepted = math.max(accepted or 0, ARGV[i + 1])
    last = math.max(last or 0, ARGV[i + 2])
    redis.call('HSET', KEYS[5], ARGV[i], string.format('%.0f %.0f', accepted, last))
end
local all, lost = redis.call('HGETALL', KEYS[5]), 0
for i = 2, #all, 2 do
    local accepted, last = range(all[i])
    lost = lost + (last or 0) - (accepted or 0)
end
local time = redis.call('TIME')
local here = redis.pcall('LLEN', KEYS[3])
local found = tonumber(ARGV[5]) + (type(here) == 'number' and here or 0)
local words = table.concat({ARGV[2], ARGV[3], string.format('%.0f', found + lost),
    string.format('%.0f', found), ARGV[6], string.format('%.0f', time[1] * 1000000 + time[2])}, ' ')
redis.call('SET', KEYS[1], words)
if type(latest) ~= 'string' or latest < ARGV[2] then redis.call('SET', KEYS[2], ARGV[2]) end
for i = 6, #KEYS do redis.call('EXPIRE', KEYS[i], ARGV[7]) end
return words
