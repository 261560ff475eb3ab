-- Asks whether the scripts that sell would run, and writes nothing. Redis refuses a script without
-- the flag no-writes before its first line wherever it refuses writes: out of memory, read-only, after
-- a failed save, with too few replicas. So no key is needed, and nothing to replicate or to sync.
--
-- KEYS  1 any key of the service's
-- Reply "", or the first command that they use and this user may not
local key = KEYS[1]
local used = {
    {'GET', key}, {'MGET', key}, {'SET', key, ''}, {'INCRBY', key, 1}, {'DECRBY', key, 1}, {'TIME'},
    {'HGET', key, ''}, {'HMGET', key, ''}, {'HLEN', key}, {'HSET', key, '', ''}, {'LLEN', key},
    {'RPUSH', key, ''},
}
for _, command in ipairs(used) do
    if redis.acl_check_cmd and not redis.acl_check_cmd(unpack(command)) then return command[1] end
end
return ''
