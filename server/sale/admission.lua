-- An instance's say in whether this run of the server may be written to (server/sale/admission.h).
-- Deadlines are by this server's clock, so who has died objects no longer once its time is over.
-- KEYS  1 who objects: instance -> deadline in ms  2 run id of the run that was admitted last
-- ARGV  1 instance  2 ms for which it objects from now on, 0 = no longer  3 the run id to admit, "" = none
-- Reply {instances that object, the run that is admitted}; none is admitted while one objects
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local objections = redis.call('ZCARD', KEYS[1])
if objections > 0 then redis.call('PEXPIRE', KEYS[1], 60000) end
if objections == 0 and ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3]) end
return {objections, redis.call('GET', KEYS[2]) or ''}
