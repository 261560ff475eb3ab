-- How a segment stands to whoever reads its feed (feed.h), and its moves where the page comes to them. Begins with
-- state.lua, which tells KEYS and ARGV 1 to 4. Orders are read afterwards, by plain commands: each costs half of what
-- it would in here.
-- ARGV  5 orders and  6 moves that the asker has  7 the most events, 0 = none
-- Reply {what stands under the current sale, epochs, orders, moves, seconds, microseconds of Redis's clock, {the last
--       move that the asker has, those behind it ...}}, or "damaged <key>"
local has_moves, limit = tonumber(ARGV[6]), tonumber(ARGV[7])
local count = held and ask('moves', try('LLEN', KEYS[10])) or 0
local time = ask('time', try('TIME'))
if denied then return denied end
if damaged then return damaged end
local room = math.max(limit - math.max(number - tonumber(ARGV[5]), 0), 0) -- for moves
local first, last = math.max(has_moves - 1, 0), has_moves + room - 1
local moves = held and first <= last and redis.call('LRANGE', KEYS[10], first, last) or {}
return {current, epochs, number, count, time[1], time[2], moves}
