-- Resumes the halted sale of one tag in a new epoch. The lost orders are accepted, and no longer counted.
-- Comes after begin.lua.
--
-- KEYS  1 current sale  2 cfg  3 ledger  4 epochs  5 lost orders
-- ARGV  1 the expected pointer; if it differs, nothing is done  2 the sale  3 the new epoch
--       4 "1": this is the item's own tag, whose cfg gets the time of the admin's decision
-- Reply the pointer afterwards; "gone": the sale's terms or epochs are missing, and nothing was done
local current = redis.call('GET', KEYS[1]) or ''
if current ~= ARGV[1] then return current end
local epochs = begin(redis.call('GET', KEYS[4]) or '', ARGV[3], redis.call('LLEN', KEYS[3]))
if not epochs then return 'gone' end
if ARGV[4] == '1' and redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
for _, command in ipairs({{'HSET', KEYS[2], '', ''}, {'HDEL', KEYS[5], ''}, {'DEL', KEYS[5]}}) do
    if redis.acl_check_cmd and not redis.acl_check_cmd(unpack(command)) then
        return redis.error_reply('NOPERM this user may not resume a sale')
    end
end
if redis.call('TYPE', KEYS[5]).ok ~= 'hash' then redis.call('DEL', KEYS[5]) end
if ARGV[4] == '1' then
    local time = redis.call('TIME')
    local before = tonumber(redis.call('HGET', KEYS[2], 'accepted') or 0) or 0
    local accepted = math.max(time[1] * 1000000 + time[2], before + 1)
    redis.call('HSET', KEYS[2], 'accepted', string.format('%.0f', accepted))
end
for _, name in ipairs(redis.call('HKEYS', KEYS[5])) do
    if string.sub(name, 1, 1) == '#' then
        redis.call('HDEL', KEYS[5], name) -- a segment's, which has accepted it by itself
    else
        local last = string.match(redis.call('HGET', KEYS[5], name), '%d+$') or '0'
        redis.call('HSET', KEYS[5], name, last .. ' ' .. last)
    end
end
redis.call('SET', KEYS[4], epochs)
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
