-- Sets the number of permits, and hands on what fits now.
-- KEYS  as in shares.lua
-- ARGV  1 number of permits, 2 lease in ms, 3 claim window in ms
-- Reply 1
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2]) or may_not('PEXPIREAT', KEYS[1], ARGV[2])
denied = denied or other_family()
if denied then return denied end
purge('')
redis.call('SET', KEYS[6], ARGV[1], 'PX', life(KEYS[6], ARGV[2]))
capacity = tonumber(ARGV[1])
hand_on(ARGV[3])
return 1
