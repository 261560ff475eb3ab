-- An instance's heartbeat: writes its record, and reads the others' (server/dashboard/instances.h). Times are
-- this server's, so that all instances agree on which are silent.
-- KEYS  1 instance -> "<ms since 1970> <record>"
-- ARGV  1 instance  2 its record  3 how long the record of a silent instance is kept, ms
-- Reply {ms since 1970, instance, value, instance, value, ...}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now, ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local all = redis.call('HGETALL', KEYS[1])
local reply = {now}
for i = 1, #all, 2 do
    local told = tonumber(string.match(all[i + 1], '^%d+'))
    if told and math.abs(now - told) <= tonumber(ARGV[3]) then
        reply[#reply + 1] = all[i]
        reply[#reply + 1] = all[i + 1]
    else
        redis.call('HDEL', KEYS[1], all[i])
    end
end
return reply
