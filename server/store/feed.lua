-- One page of a segment's feed (feed.h): orders, and behind the last of them moves. Begins with state.lua, which
-- tells KEYS and ARGV 1 to 4. All of it is passed on as it stands there: what it says is the caller's to judge.
-- ARGV  5 orders and  6 moves that the asker has  7 the most events, 0 = none
-- Reply {what stands under the current sale, epochs, orders, moves, seconds, microseconds of Redis's clock,
--       {entry of the ledger, ...}, {its record, ...}, {the last move that the asker has, those behind it ...}}, or
--       "damaged <key>"
local has, has_moves, limit = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local count = held and ask('moves', try('LLEN', KEYS[10])) or 0
local time = ask('time', try('TIME'))
if denied then return denied end
if damaged then return damaged end
local entries, records, moves = {}, {}, {}
if has < number and limit > 0 then
    entries = redis.call('LRANGE', KEYS[5], ARGV[5], has + limit - 1)
    local names = entries
    if held then -- the entry of a reservation has a word more
        names = {}
        for i, entry in ipairs(entries) do names[i] = string.match(entry, '^%S*') end
    end
    records = redis.call('HMGET', KEYS[4], unpack(names))
end
local room = has + #entries >= number and limit - #entries or 0
local first = has_moves > 0 and has_moves - 1 or 0
if held and has_moves + room > first then
    moves = redis.call('LRANGE', KEYS[10], first, has_moves + room - 1)
end
return {current, epochs, number, count, time[1], time[2], entries, records, moves}
