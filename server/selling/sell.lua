-- Sells to buyers in the order given, each all or nothing, and records the orders. A request with an
-- earlier order is answered with it, even if the sale is over. Everything is decided before the first
-- write; missing rights are known before the first write that can not be undone.
--
-- Begins with state.lua, which explains KEYS and ARGV 1 to 4.
-- ARGV  5 the instance, for the records; `fence` is the lock's, "0" = none
--       6 units of the largest segment: a buyer refused here asks the next one, so leave a mark if
--       any could have sold it. Marks are bounded; beyond that "busy". "0": there is no next
--       7 initial units
--       8 units that each buyer wants: one number for all, or one per buyer, separated by blanks
--       9 the earliest not_after, in us of Redis's clock  10 all of them, separated by blanks
--       then the requests, and then as many "<user> <units>"
--
-- Reply {units left, -1 = unknown; us of Redis's clock; one answer per buyer ...}. An answer is the new
-- order's number; the caller knows the rest of its record. Or it is "=" and the earlier record, or
-- "closed", "epoch", "damaged <key>" ("orders" also for a record whose number is not its place in the ledger),
-- "rolled_back <highest order number>", "sold_out", "limit", "late", "busy", "void",
-- "NOPERM <what>".
--
-- Converting numbers to texts and back is a good part of the cost of a buyer. So times stay texts; of
-- order numbers and units left only the last digit is composed anew; and a table is created at its final
-- size, from as many words of ARGV.
local FIRST = 11
local count = (#ARGV - FIRST + 1) / 2
local last = FIRST + count - 1

local time = ask('time', try('TIME')) or {'', ''}
local now = time[1] .. string.sub('00000' .. time[2], -6)
local function passed(moment) return #now > #moment or #now == #moment and now > moment end

local function split(words)
    local each = {}
    for word in string.gmatch(words, '%d+') do each[#each + 1] = word end
    return each
end
local wants = tonumber(ARGV[8])
local each_wants = not wants and split(ARGV[8])
local not_after = passed(ARGV[9]) and split(ARGV[10]) -- false: no buyer is late

local known = ask('orders', try('HMGET', KEYS[4], unpack(ARGV, FIRST, last))) or {}
local users, has = {}, nil
if limit then
    has = {}
    for i = 1, count do users[i] = string.match(ARGV[last + i], '^%S+') end
    for i, units in ipairs(ask('users', try('HMGET', KEYS[6], unpack(users))) or {}) do
        has[users[i]] = not units and 0 or canonical(units) or false -- false: this user's count is damaged, not others'
    end
end
if left and sold and left + sold ~= tonumber(ARGV[7]) then fault('stock') end
local refused = denied and denied.err or refusal()

local tail = ' ' .. fence .. ' ' .. ARGV[5] .. ' ' .. now .. ' ' .. string.sub(ARGV[4], 1, 12) .. ' sold'
local digit = count > 1 and {[0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}
local function tens_of(n) return n > 9 and string.format('%d', n / 10) or '' end
local number_tens, left_tens

local voids -- void requests have their own bound (resolve.lua)
local function has_room(marks)
    if marks < 40000 then return true end
    voids = voids or canonical(ask('orders', try('HGET', KEYS[4], '#void'))) or 0
    return marks - voids < 40000
end

local before, fresh, written, taken = left, {}, 0, 0
local records, ids = {unpack(ARGV, FIRST)}, {unpack(ARGV, FIRST, last)}
local answers = {left or -1, now, unpack(ids)}

for i = 1, count do
    local request, order = ARGV[FIRST - 1 + i], ARGV[last + i]
    local user, units = users[i], wants or tonumber(each_wants[i])
    local record = known[i] or fresh[request]
    local answer, new
    if record == '-' then answer = 'void'
    elseif record and record ~= '>' then
        answer = known[i] and misplaced(request, record) or '=' .. record
    elseif refused then answer = refused
    elseif record then answer = 'sold_out'
    elseif limit and not has[user] then answer = 'damaged users'
    elseif not_after and passed(not_after[i]) then answer = 'late'
    elseif limit and has[user] + units > limit then answer = 'limit'
    elseif units > left then
        answer = 'sold_out'
        if left > 0 and units <= tonumber(ARGV[6]) then
            if has_room(orders - number + written) then new = '>' else answer = 'busy' end
        end
    else
        left = left - units
        number = number + 1
        if count == 1 then
            new = string.format('%d %s %d%s', number, order, left, tail)
        else
            local one, one_left = number % 10, left % 10
            if one == 0 or not number_tens then number_tens = tens_of(number) end
            if one_left == 9 or units > 1 or not left_tens then left_tens = tens_of(left) end
            new = number_tens .. digit[one] .. ' ' .. order .. ' '
                .. left_tens .. digit[one_left] .. tail
        end
        answer = number
        taken = taken + 1
        ids[taken] = request
        if limit then has[user] = has[user] + units end
    end
    if new then
        fresh[request] = new
        records[written * 2 + 1], records[written * 2 + 2] = request, new
        written = written + 1
    end
    answers[i + 2] = answer
end
answers[1] = left or -1
if written == 0 then return answers end

-- Checking a right costs as much as a command. So rights are checked only before writes that can not be
-- undone; a number can be, by the command that was just allowed.
local units = taken > 0 and (taken == 1 and wants and ARGV[8] or string.format('%d', before - left))
if units then may('RPUSH', KEYS[5], '') end
if units and limit then may('HSET', KEYS[6], '', '') end
local counted = units and not denied and ask('sold', try('INCRBY', KEYS[3], units))
local removed = counted and ask('stock', try('DECRBY', KEYS[2], units))
if not denied then ask('orders', try('HSET', KEYS[4], unpack(records, 1, written * 2))) end
if denied then
    if removed then redis.call('DECRBY', KEYS[2], '-' .. units) end
    if counted then redis.call('INCRBY', KEYS[3], '-' .. units) end
    for i = 1, count do
        if not known[i] or known[i] == '>' then answers[i + 2] = denied.err end
    end
elseif units then
    redis.call('RPUSH', KEYS[5], unpack(ids, 1, taken))
    if limit then
        local owned = {}
        for user, has_units in pairs(has) do
            if has_units then
                owned[#owned + 1] = user
                owned[#owned + 1] = string.format('%d', has_units)
            end
        end
        redis.call('HSET', KEYS[6], unpack(owned))
    end
end
return answers
