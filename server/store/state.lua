-- Shared beginning of the scripts that sell, record and count: reads one segment's state, and checks it.
-- Writes nothing. Scripts do not roll back, so this and may() must find no fault before the first write;
-- then all later writes succeed.
--
-- A number must be as INCRBY writes it. Lua would also accept "90.0", "9e1", " 90" and "0x5a".
--
-- KEYS  1 the item's current sale  2 stock  3 sold  4 orders  5 ledger  6 users  7 epochs (epochs.h)
--       of a sale with reservations also  8 reserved  9 buckets  10 moves (reservations.h)
-- ARGV  1 the sale  2 units per user, 0 = any  3 the highest order number that the caller has seen: a
--       shorter ledger means that Redis has lost data  4 the epochs that the caller knows; it writes
--       under the newest; "" = it only reads
local KEYS, ARGV, redis, string = KEYS, ARGV, redis, string -- locals cost less
local denied, damaged
local function fault(what) damaged = damaged or 'damaged ' .. what end

-- Tries a command and returns its reply. nil: `denied` is the error to return, or the key has the wrong
-- type.
local try = redis.pcall
local function ask(what, answer)
    if type(answer) ~= 'table' or not answer.err then return answer end
    if string.find(answer.err, 'WRONGTYPE', 1, true) then return fault(what) end
    denied = denied or redis.error_reply('NOPERM ' .. answer.err)
end

local function may(...)
    if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
        denied = denied or redis.error_reply('NOPERM this user may not ' .. (...))
    end
end

local function canonical(word)
    local whole = word == '0' or word and #word < 16 and string.find(word, '^[1-9]%d*$')
    return whole and tonumber(word) or nil
end

local function number_of(word, what) return canonical(word) or fault(what) end

local texts = ask('sale', try('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[7])) or {}
local current, left, sold = texts[1], number_of(texts[2], 'stock'), number_of(texts[3], 'sold')
local limit = ARGV[2] ~= '0' and tonumber(ARGV[2]) -- units per user; false: no limit
local number = ask('ledger', try('LLEN', KEYS[5])) or 0
local orders = ask('orders', try('HLEN', KEYS[4])) or 0
local ended
if current ~= ARGV[1] then
    -- A later sale ends this one; a halt does too, "<sale> <why> ...".
    local id, words = string.match(current or '', '^(%x+)(.*)$')
    ended = id and #id == #ARGV[1]
        and (words == '' and id > ARGV[1] or string.sub(words, 1, 1) == ' ')
    if not ended then fault('sale') end
end
local epochs = texts[4]
if not epochs then fault('epochs') end
local held = KEYS[10] and (ask('reserved', try('HMGET', KEYS[8], 'units', 'now', 'settled')) or {})
local reserved = held and number_of(held[1], 'reserved') or 0
local decided_us = held and (string.match(held[2] or '', '^[1-9]%d*$') or held[2] == '0' and '0')
local settled_last = held and string.match(held[3] or '', '^%d+ [%x-]+$')
if held and (not decided_us or #decided_us > 16 or not settled_last) then fault('reserved') end
if sold and (number > sold and not held or sold + reserved > 0 and number == 0) then fault('ledger') end
if orders < number then fault('orders') end
if limit and ask('users', try('HLEN', KEYS[6])) == 0 and number > 0 then fault('users') end

-- Whether the ledger has this epoch at this place, as far as the epochs can be read.
local function is_of_epoch(said, place)
    for epoch, first in string.gmatch(epochs or '', '(%x+) (%d+) ') do
        if tonumber(first) <= place then return epoch == said end
    end
    return not epochs
end

-- What is wrong with a record that was found; nil = the ledger has this request at its number. A buyer is
-- told the number, and the caller remembers it. So a number that the ledger does not have must not get out:
-- remembered after the damage is mended, it would halt the sale. `entry` is the ledger's entry, if read.
local RECORD = '^(%d+) (%S+) (%d+) %d+ %d+ %S+ %d+ (%x+) (%l+) ?(%d*)$' -- purchase.h
local function misplaced(request, record, entry)
    local place, _, _, epoch, _, bucket = string.match(record, RECORD)
    place = place and canonical(place)
    if place and place > 0 and not entry then
        local read = ask('ledger', try('LRANGE', KEYS[5], place - 1, place - 1))
        entry = read and read[1]
    end
    local is = bucket ~= '' and request .. ' reserved' or request
    if place and entry == is and is_of_epoch(epoch, place) then return nil end
    return denied and denied.err or 'damaged orders'
end

-- Why the sale can not sell to any buyer; nil = it can.
local function refusal()
    if ended then return 'closed' end
    if damaged then return damaged end
    if epochs ~= ARGV[4] and ARGV[4] ~= '' then
        return string.find(epochs, '^%x+ [1-9]') and 'epoch' or 'damaged epochs'
    end
    return tonumber(ARGV[3]) > number and 'rolled_back ' .. number or nil
end
