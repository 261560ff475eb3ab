-- Makes a sale the current one of its tag (an item or a segment), and lets the keys of the sale before
-- expire. Sale ids rise, so a late call can not restore an older sale. Everything is decided before the
-- first write.
--
-- KEYS  1 current sale  2 cfg  3 stock  4 sold  5 orders  6 ledger  7 users  8 epochs
--       9 reserved  10 buckets  11 moves  12 the latest sale ever  then the keys of the sale before
-- ARGV  1 the new sale  2 the expected pointer, "" = none  3 units, "" = no stock here
--       4 seconds until the old keys expire  5 not_after in us of Redis's clock
--       6 "1": the admin has accepted a loss before this sale  7 the epochs of its ledger
--       8 "1": it has reservations
--       then fields and values of cfg
-- Reply the pointer afterwards: the new sale; or another one that came first, and nothing was done. If the
-- new sale is already there, the pointer is written again, because WAIT covers only the connection's own
-- writes. Otherwise nothing was done: "lost", Redis has lost the pointer to an earlier sale; "late", the
-- starter no longer waits; "damaged", the pointer is not a string or is empty, or the new sale has keys
-- already.
local function may(...)
    return not redis.acl_check_cmd or redis.acl_check_cmd(...)
end
local current = redis.pcall('GET', KEYS[1])
if type(current) == 'table' then
    return string.find(current.err, 'WRONGTYPE', 1, true) and 'damaged' or current
end
if current == '' then return 'damaged' end
current = current or ''
if current == ARGV[1] then redis.call('SET', KEYS[1], current) end
if current ~= ARGV[2] or current >= ARGV[1] then return current end
local latest = redis.call('GET', KEYS[12])
if current == '' and latest and (ARGV[6] ~= '1' or latest >= ARGV[1]) then return 'lost' end
for i = 2, 11 do
    if redis.call('EXISTS', KEYS[i]) == 1 then return 'damaged' end
end
local time = redis.call('TIME')
if time[1] * 1000000 + time[2] > tonumber(ARGV[5]) then return 'late' end
if not (may('HSET', KEYS[2], '', '') and may('SET', KEYS[1], '') and may('EXPIRE', KEYS[1], 1)) then
    return redis.error_reply('NOPERM this user may not start a sale')
end
redis.call('HSET', KEYS[2], unpack(ARGV, 9))
redis.call('SET', KEYS[8], ARGV[7])
if ARGV[3] ~= '' then
    redis.call('SET', KEYS[3], ARGV[3])
    redis.call('SET', KEYS[4], '0')
    if ARGV[8] == '1' then redis.call('HSET', KEYS[9], 'units', '0', 'now', '0', 'settled', '0 -') end
end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[12], ARGV[1])
for i = 13, #KEYS do redis.call('EXPIRE', KEYS[i], ARGV[4]) end
return ARGV[1]
