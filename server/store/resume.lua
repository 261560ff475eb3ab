-- Lets the halted sale of one tag go on.
--
-- KEYS  1 current sale  2 cfg
-- ARGV  1 what stands there: otherwise nothing is done  2 the sale
--       3 "1": the item's own tag, whose cfg says when the admin has said so
-- Reply what stands there then; "gone": the sale's terms are not there, and nothing was done
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return current end
if ARGV[3] == '1' then
    if redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
    local time = redis.call('TIME')
    local before = tonumber(redis.call('HGET', KEYS[2], 'accepted') or 0) or 0
    local accepted = math.max(time[1] * 1000000 + time[2], before + 1)
    redis.call('HSET', KEYS[2], 'accepted', string.format('%.0f', accepted))
end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
