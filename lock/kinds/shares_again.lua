-- A wake-up that another thread of the same process is to hear: onto its list again.
-- KEYS  1 wake-up list
-- ARGV  1 token
-- Reply 1
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return 1
