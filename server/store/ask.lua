-- Notes the first question about a request that has no order, and tells whether it lies so far back
-- that every request which was under way then has run out. All notes of a sale are one key, which is
-- bounded: a question that finds no room takes that of any other, so that nobody who asks can keep the
-- others from being noted.
-- KEYS  1 the notes: sorted set, request -> us of its first question by Redis's clock
-- ARGV  1 request  2 us that a request may be under way  3 ms that a note is kept  4 notes there may be
-- Reply 1 = so far back, 0 = not yet
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
    return redis.error_reply('NOPERM this user may not PEXPIRE') -- and notes do not live for ever
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3] * 1000)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then
    local any = redis.call('ZRANDMEMBER', KEYS[1], 1, 'WITHSCORES')
    redis.call('ZREMRANGEBYSCORE', KEYS[1], any[2], any[2])
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0
