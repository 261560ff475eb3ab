-- Fragment: the latch at KEYS[1], a hash. Comes after fence.lua.
--   left     count-downs that are missing; 0: it is open
--   round    number of this setting: above the last one's, and never below the server's clock in us
--   first    the round since which it was always open when it was set again
--   life     ms that it lives after it was set, and after each count-down
--   by:WHO   one for each WHO that has counted down in this round
-- Every script on a latch replies {what, left, round, first}. `what` is 1: done; 0: not done, because
-- it is not open; 2: not done, because the caller's round is another one; -1: no latch is set;
-- -2: another key is at the name.

local function whole(word, least, most)
    local number = word and string.find(word, '^%d+$') and tonumber(word)
    return number and number >= least and number <= most and number or nil
end

local function digits(number)
    return string.format('%.0f', number)
end

-- nil: there is none; nil and true: another key is at the name.
local function read_latch()
    local kind = redis.call('TYPE', KEYS[1]).ok
    if kind == 'none' then return nil, false end
    if kind ~= 'hash' then return nil, true end
    local words = redis.call('HMGET', KEYS[1], 'left', 'round', 'first', 'life')
    local left, round = whole(words[1], 0, 1e9), whole(words[2], 1, 9e15)
    local first, life = whole(words[3], 1, 9e15), whole(words[4], 1, 31536000000)
    if not (left and round and first and life) then return nil, true end
    return {left = left, round = round, first = first, life = life}, false
end

local function tell(what, latch)
    if not latch then return {what, 0, 0, 0} end
    return {what, latch.left, latch.round, latch.first}
end
