-- Lets a try pass, or returns how long to wait: GCRA in its virtual scheduling form.
-- KEYS  1 the moment at which the bucket is empty again, in us of Redis's clock
-- ARGV  1 us per try  2 tries at once
-- Reply 0 = pass, otherwise us to wait
-- A value that can not be such a moment counts as an empty bucket, and is overwritten.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local word = redis.call('MGET', KEYS[1])[1]
local empty = word and string.find(word, '^[1-9]%d*$') and tonumber(word) or now
if empty < now or empty > now + each * burst then empty = now end
local wait = empty - now - each * (burst - 1)
if wait > 0 then return wait end
redis.call('SET', KEYS[1], string.format('%.0f', empty + each), 'PX',
    math.ceil((empty + each - now) / 1000))
return 0
