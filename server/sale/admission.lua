-- An instance objects to writes to this run of the server, or admits it (server/sale/admission.h).
-- Deadlines are by this server's clock, so the objection of a dead instance ends in time.
-- KEYS  1 objections: instance -> deadline in ms  2 run id of the last admitted run
-- ARGV  1 instance  2 ms for which it objects from now on, 0 = no longer  3 the run id to admit, "" = none
-- Reply {number of objecting instances, the admitted run}; no run is admitted while an instance objects
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local objections = redis.call('ZCARD', KEYS[1])
if objections > 0 then redis.call('PEXPIRE', KEYS[1], 60000) end
if objections == 0 and ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3]) end
return {objections, redis.call('GET', KEYS[2]) or ''}
