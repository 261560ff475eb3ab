-- Checks whether the scripts that sell would run, and writes nothing. Redis refuses a script without the
-- flag no-writes before its first line whenever it refuses writes: out of memory, read-only, after a
-- failed save, with too few replicas; and it delays the script while writes are paused. So the probe needs
-- no key, replicates and syncs nothing, and does no harm if it runs late.
--
-- KEYS  1 any key of the service
-- Reply "", or the first command of those scripts that this user may not run
local key = KEYS[1]
local used = {
    {'GET', key}, {'MGET', key}, {'SET', key, ''}, {'INCRBY', key, 1}, {'DECRBY', key, 1}, {'TIME'},
    {'HGET', key, ''}, {'HMGET', key, ''}, {'HLEN', key}, {'HSET', key, '', ''}, {'LLEN', key},
    {'RPUSH', key, ''},
    -- in sales with reservations
    {'ZADD', key, 0, ''}, {'ZCARD', key}, {'ZRANGEBYSCORE', key, 0, 0}, {'ZREMRANGEBYSCORE', key, 0, 0},
    -- to run a script by its hash, and for the kinds of locks
    {'EVALSHA', '', 1, key}, {'DEL', key}, {'EXISTS', key}, {'PEXPIRE', key, 1}, {'PTTL', key},
    {'HDEL', key, ''}, {'HEXISTS', key, ''}, {'HRANDFIELD', key}, {'LPOP', key},
    {'LRANGE', key, 0, 0}, {'LREM', key, 0, ''},
}
for _, command in ipairs(used) do
    if redis.acl_check_cmd and not redis.acl_check_cmd(unpack(command)) then return command[1] end
end
return ''
