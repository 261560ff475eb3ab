-- The state of a segment for a reader of its feed (feed.h), and the moves of the page, if it gets that far. Begins
-- with state.lua, which explains KEYS and ARGV 1 to 4. Plain commands read the orders afterwards: in a script each
-- would cost twice as much.
-- ARGV  5 orders and  6 moves that the reader has  7 the most events, 0 = none
-- Reply {pointer to the current sale, epochs, orders, moves, seconds, microseconds of Redis's clock, {the reader's
--       last move, the moves after it ...}}, or "damaged <key>"
local has_moves, limit = tonumber(ARGV[6]), tonumber(ARGV[7])
local count = held and ask('moves', try('LLEN', KEYS[10])) or 0
local time = ask('time', try('TIME'))
if denied then return denied end
if damaged then return damaged end
local room = math.max(limit - math.max(number - tonumber(ARGV[5]), 0), 0) -- for moves
local first, last = math.max(has_moves - 1, 0), has_moves + room - 1
local moves = held and first <= last and redis.call('LRANGE', KEYS[10], first, last) or {}
return {current, epochs, number, count, time[1], time[2], moves}
