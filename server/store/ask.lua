-- Notes the first question about a request without an order, and returns whether it was so long ago that
-- every request in flight then has timed out. All notes of a sale are in one bounded key: if it is full, a
-- new question replaces any other one, so that one client can not keep others from being noted.
-- KEYS  1 the notes: sorted set, request -> us of its first question by Redis's clock
-- ARGV  1 request  2 the longest time in flight, us  3 how long a note is kept, ms  4 the most notes
-- Reply 1 = long enough ago, 0 = not yet
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local noted = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(noted) == 'table' then
    if not string.find(noted.err, 'WRONGTYPE', 1, true) then return noted end
    redis.call('DEL', KEYS[1])
    noted = false
end
noted = tonumber(noted or 'inf')
if noted <= now then return now - noted >= tonumber(ARGV[2]) and 1 or 0 end
if redis.acl_check_cmd and not redis.acl_check_cmd('PEXPIRE', KEYS[1], ARGV[3]) then
    return redis.error_reply('NOPERM this user may not PEXPIRE') -- a note must expire
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3] * 1000)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then
    local any = redis.call('ZRANDMEMBER', KEYS[1], 1, 'WITHSCORES')
    redis.call('ZREMRANGEBYSCORE', KEYS[1], any[2], any[2])
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0
