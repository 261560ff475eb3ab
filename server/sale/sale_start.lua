-- Makes a sale the current one of its tag (an item, or a segment of one), and lets what the sale
-- before has left behind expire. Sale ids rise, so a late call can not bring back an older sale.
--
-- KEYS  1 current sale  2 cfg  3 stock  4 sold  then the keys of the sale before
-- ARGV  1 the new sale  2 the sale that it follows, "" = none  3 units, "" = no stock here
--       4 seconds until leftovers expire  5 not_after in us of Redis's clock
--       then fields and values of cfg
-- Reply the sale in force: the new one, or another that came first; nothing was done then. Or
-- "late": nothing was done, for the starter does not wait any more.
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[2] or current >= ARGV[1] then return current end
local time = redis.call('TIME')
if time[1] * 1000000 + time[2] > tonumber(ARGV[5]) then return 'late' end
redis.call('HSET', KEYS[2], unpack(ARGV, 6))
if ARGV[3] ~= '' then
    redis.call('SET', KEYS[3], ARGV[3])
    redis.call('SET', KEYS[4], '0')
end
redis.call('SET', KEYS[1], ARGV[1])
for i = 5, #KEYS do redis.call('EXPIRE', KEYS[i], ARGV[4]) end
return ARGV[1]
