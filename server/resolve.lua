-- Finds the order of a request; or makes sure that there never will be one, and says so.
--
-- The first question about an unknown request notes the time. When another comes after every
-- request that could have been under way at the first has run out, the request id is declared
-- void: the selling scripts refuse it from then on. Only then is "no such order" final.
--
-- KEYS  1 orders  2 the note of the first question
-- ARGV  1 request  2 us that a request may be under way
-- Reply the record, "" = not (yet), "-" = never
local record = redis.call('HGET', KEYS[1], ARGV[1])
if record == '>' then record = nil end
if record then return record end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local asked = tonumber(redis.call('GET', KEYS[2]) or now)
if now - asked >= tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[1], ARGV[1], '-')
    redis.call('DEL', KEYS[2])
    return '-'
end
redis.call('SET', KEYS[2], string.format('%.0f', asked), 'PX', math.ceil(ARGV[2] / 1000) * 6)
return ''
