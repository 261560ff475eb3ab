-- Finds the order of a request; or makes sure that there never will be one, and says so.
--
-- The first question about an unknown request notes the time. When another comes after every
-- request that could have been under way at the first has run out, the request id is declared
-- void: the selling scripts refuse it from then on. Only then is "no such order" final.
-- In a sale that is over nothing is written any more.
--
-- KEYS  1 the item's current sale  2 orders  3 the note of the first question
-- ARGV  1 the sale  2 request  3 us that a request may be under way, "" = only look
--       4 ms to keep the note
-- Reply the record, "" = not (yet), "-" = never, "over" = no, and the sale is not the current one
local record = redis.call('HGET', KEYS[2], ARGV[2])
if record and record ~= '>' then return record end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'over' end
if ARGV[3] == '' then return '' end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local asked = tonumber(redis.call('GET', KEYS[3]) or now)
if now - asked >= tonumber(ARGV[3]) then
    redis.call('HSET', KEYS[2], ARGV[2], '-')
    redis.call('DEL', KEYS[3])
    return '-'
end
redis.call('SET', KEYS[3], string.format('%.0f', asked), 'PX', ARGV[4])
return ''
