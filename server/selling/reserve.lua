-- The sell.lua of sales with reservations: sells to buyers or reserves for them, confirms and cancels, in
-- the order given; and returns the units of expired reservations. Without buyers it only does the last.
-- Everything is decided before the first write.
--
-- Begins with state.lua, which explains KEYS and ARGV 1 to 4, and reserved.lua. store/reservations.h has the form
-- of KEYS 6 and 8 to 10.
-- ARGV  5 to 10 as in sell.lua (6 is not used)
--       11 what each wants, one word for all or one per buyer, separated by blanks: "0" to buy, the seconds
--       to reserve for, "confirm", "cancel", or "revoke", which also cancels a sold order
--       then the requests, and then as many "<user> <units>"; to confirm or cancel, user "*" means any
--       user, and the units are ignored
--
-- Reply {units left, -1 = unknown; units reserved; the place of the last move that this call made for a buyer,
-- 0 = none; one answer per buyer ...}. An answer is "+" and the record that this call has made; "=" and the
-- earlier record; a refusal as in sell.lua; or, to confirm or cancel, "none" = there is no such order,
-- "expired", "cancelled", "sold".
--
-- Converting numbers to texts and back is a good part of the cost of a buyer. So the names of buckets are
-- compared as texts, and a user's units are kept in tables of numbers and texts.
local FIRST = 12
local count = (#ARGV - FIRST + 1) / 2
local last = FIRST + count - 1
local DUE_MOST = 1000 -- buckets that one call returns
local ENDS_MOST = 1000 -- buckets in which a user may have reserved
local DEAD_MOST = 1000000 -- orders beyond the initial stock: cancelled and expired ones stay, and cost memory

local function split(words)
    local each = {}
    for word in string.gmatch(words, '%S+') do each[#each + 1] = word end
    return each
end
local time = ask('time', try('TIME')) or {0, 0}
local clock_us = time[1] * 1000000 + time[2]
local now_us = present(time)
local now = string.format('%.0f', now_us)
local all_units, all_want = tonumber(ARGV[8]), string.match(ARGV[11], '^%S+$')
local each_units, each_wants = not all_units and split(ARGV[8]), not all_want and split(ARGV[11])
local not_after = clock_us > tonumber(ARGV[9]) and split(ARGV[10]) -- false: no buyer is late
local function is_late(i) return not_after and clock_us > tonumber(not_after[i]) end
local settles = {confirm = true, cancel = true, revoke = true}

-- ---- what is there: orders, buckets, users ---------------------------------------------------------

local present_bucket = string.format('%.0f', math.floor(now_us / BUCKET_US))
local function is_past(name)
    return #name < #present_bucket or #name == #present_bucket and name <= present_bucket
end
local ends = {} -- of what is reserved now, by seconds
local function bucket_after(seconds)
    ends[seconds] = ends[seconds]
        or string.format('%.0f', math.ceil((now_us + seconds * 1000000) / BUCKET_US))
    return ends[seconds]
end

local known = count > 0 and ask('orders', try('HMGET', KEYS[4], unpack(ARGV, FIRST, last))) or {}
local due = ask('buckets', try('ZRANGEBYSCORE', KEYS[9], '-inf', present_bucket, 'LIMIT', 0, DUE_MOST)) or {}
local names, users, owners = {unpack(due)}, {}, {}
local first_place, last_place = math.huge, 0 -- of the orders to settle
for i = 1, count do
    local want, user, bucket = all_want or each_wants[i], nil, nil
    if not settles[want] then
        user = string.match(ARGV[last + i], '^%S+')
        bucket = want ~= '0' and not ends[want] and bucket_after(want)
    elseif known[i] then
        local place, owner, _, _, state, reserved_in = string.match(known[i], RECORD)
        user, bucket = owner, state == 'reserved' and reserved_in
        place = place and canonical(place) or 0
        first_place, last_place = math.min(first_place, place), math.max(last_place, place)
    end
    owners[i] = user
    if user then users[#users + 1] = user end
    if bucket then names[#names + 1] = bucket end
end
-- Most were bought at about the same time, so one call reads their places in the ledger.
local ledger_at = {} -- place -> entry
if first_place > 0 and last_place > first_place and last_place - first_place < 8 * count then
    local near = ask('ledger', try('LRANGE', KEYS[5], first_place - 1, last_place - 1)) or {}
    for i, entry in ipairs(near) do ledger_at[first_place + i - 1] = entry end
end
local buckets, all_due = {}, 0 -- name -> units
for i, units in ipairs(#names > 0 and ask('reserved', try('HMGET', KEYS[8], unpack(names))) or {}) do
    local name = names[i]
    buckets[name] = units and number_of(units, 'reserved') or 0
    if i <= #due then
        if not canonical(name) or not is_past(name) then fault('buckets') end
        if buckets[name] == 0 then fault('reserved') end
        all_due = all_due + buckets[name]
    end
end
if all_due > reserved then fault('reserved') end
check_buckets()

-- By user: units sold, nil where the word is damaged; " <bucket>:<units>" of each live reservation, and how
-- many; all units.
local bought, holds, open_ends, has = {}, {}, {}, {}
local function read_user(user, word)
    if not word then
        bought[user], holds[user], open_ends[user], has[user] = 0, '', 0, 0
        return
    end
    local firm, rest = string.match(word, '^(%d+)(.*)$')
    bought[user], holds[user], open_ends[user] = canonical(firm), '', 0
    has[user] = bought[user]
    if not has[user] or rest == '' then return end
    if string.gsub(rest, ' [1-9]%d*:[1-9]%d*', '') ~= '' then bought[user] = nil end
    local live = {}
    for name, units in string.gmatch(rest, ' (%d+):(%d+)') do
        if not is_past(name) then
            live[#live + 1] = ' ' .. name .. ':' .. units
            has[user] = has[user] + units
        end
    end
    holds[user], open_ends[user] = table.concat(live), #live
end
for i, word in ipairs(#users > 0 and ask('users', try('HMGET', KEYS[6], unpack(users))) or {}) do
    if not holds[users[i]] then read_user(users[i], word) end
end

-- What a user has in a bucket, and the rest of what it holds.
local function held_in(user, name)
    local text = holds[user]
    if text == '' then return 0, text end
    local from, to, units = string.find(text, ' ' .. name .. ':(%d+)')
    if not from then return 0, text end
    return tonumber(units), string.sub(text, 1, from - 1) .. string.sub(text, to + 1)
end

-- ---- what becomes of it ----------------------------------------------------------------------------

if left and sold and left + sold + reserved ~= tonumber(ARGV[7]) then fault('stock') end
local refused = denied and denied.err or refusal()
local before, sold_before = left, sold
local moved, changed = {}, {} -- buckets, users: name -> true
local records, entries, moves = {}, {}, {}
local settled = false
local epoch = ' ' .. (string.match(epochs or '', '^%x+') or '-')
local tail = ' ' .. fence .. ' ' .. ARGV[5] .. ' ' .. now .. epoch .. ' '

local function move_bucket(name, units)
    buckets[name] = buckets[name] + units
    reserved = reserved + units
    moved[name] = true
end
local function note_move(what, which, units)
    moves[#moves + 1] = string.format('%s %s %d %s%s', what, which, units, now, epoch)
end

-- A sale that a later one has ended sells nothing, but its orders are settled, and its buckets return.
local over = ended and not string.find(current, ' ', 1, true)
local unsettled = refused
if over then unsettled = denied and denied.err or damaged end
if not unsettled then
    for _, name in ipairs(due) do
        left = left + buckets[name]
        note_move('expired', name, buckets[name])
        move_bucket(name, -buckets[name])
    end
end

-- The new order's record.
local function buy(request, user, order, units, seconds)
    local state = 'sold'
    left = left - units
    number = number + 1
    has[user] = has[user] + units
    changed[user] = true
    if seconds == '0' then
        sold = sold + units
        bought[user] = bought[user] + units
        entries[#entries + 1] = request
    else
        local name = bucket_after(seconds)
        local already, others = held_in(user, name)
        move_bucket(name, units)
        if already == 0 then open_ends[user] = open_ends[user] + 1 end
        holds[user] = string.format('%s %s:%d', others, name, already + units)
        entries[#entries + 1] = request .. ' reserved'
        state = 'reserved ' .. name
    end
    return string.format('%d %s %d%s%s', number, order, left, tail, state)
end

-- Moves an order's units according to its new state. False: they are not where they should be.
local function move_units(user, units, state, name, confirms)
    if not bought[user] then return false end
    if state == 'reserved' then
        local in_bucket, others = held_in(user, name)
        if buckets[name] < units or reserved < units or in_bucket < units then return false end
        move_bucket(name, -units)
        holds[user] = others
        if in_bucket > units then
            holds[user] = string.format('%s %s:%d', others, name, in_bucket - units)
        end
    else
        if sold < units or bought[user] < units then return false end
        sold = sold - units
        bought[user] = bought[user] - units
    end
    if confirms then
        sold = sold + units
        bought[user] = bought[user] + units
    else
        left = left + units
        has[user] = has[user] - units
    end
    changed[user] = true
    return true
end

-- The answer to a confirm or cancel, and the record to write.
local function settle(i, want, request, record, fresh)
    if not record or record == '-' then return unsettled or 'none' end
    local place, user, units, _, state, name = string.match(record, RECORD)
    local wrong = not fresh and misplaced(request, record, place and ledger_at[tonumber(place)])
    if wrong then return wrong end
    local asks = string.match(ARGV[last + i], '^%S+')
    local confirms, open = want == 'confirm', state == 'reserved'
    if asks ~= '*' and asks ~= user then return 'none' end
    if state == 'cancelled' then return confirms and state or '=' .. record end
    if confirms and not open then return '=' .. record end
    if unsettled then return unsettled end
    if open and is_past(name) then return 'expired' end
    if not open and want == 'cancel' then return 'sold' end
    if is_late(i) then return 'late' end
    if not move_units(user, tonumber(units), state, name, confirms) then return 'damaged reserved' end
    local becomes, ending = confirms and 'confirmed' or 'cancelled', name ~= '' and ' ' .. name or ''
    note_move(becomes, request, units)
    settled = true
    local new = string.sub(record, 1, #record - #state - #ending) .. becomes .. ending
    return '+' .. new, new
end

local function sell(i, want, request, record, fresh)
    if record == '-' then return 'void' end
    if record then return not fresh and misplaced(request, record) or '=' .. record end
    if refused then return refused end
    local order, units = ARGV[last + i], all_units or tonumber(each_units[i])
    local user = owners[i]
    if not bought[user] then return 'damaged users' end
    if is_late(i) then return 'late' end
    if has[user] + units > limit or want ~= '0' and open_ends[user] >= ENDS_MOST then return 'limit' end
    if want ~= '0' and number >= ARGV[7] + DEAD_MOST then return 'not_offered' end
    if units > left then return 'sold_out' end
    local new = buy(request, user, order, units, want)
    return '+' .. new, new
end

local answers, fresh = {}, {}
for i = 1, count do
    local request, want = ARGV[FIRST - 1 + i], all_want or each_wants[i]
    local one = settles[want] and settle or sell
    local answer, new = one(i, want, request, fresh[request] or known[i], fresh[request])
    answers[i] = answer
    if new then
        fresh[request] = new
        records[#records + 1], records[#records + 2] = request, new
    end
end

-- ---- what is written -------------------------------------------------------------------------------

-- The moves come first, because it is not yet known that their key is a list.
local writes = {}
local function will(...) writes[#writes + 1] = {...} end
local function add(key, units)
    if units and units ~= 0 then will('INCRBY', key, string.format('%d', units)) end
end
local function move_stock()
    add(KEYS[2], left - before)
    add(KEYS[3], sold - sold_before)
    local numbers, added, gone = {'units', string.format('%d', reserved), 'now', now}, {}, {}
    for name in pairs(moved) do
        if buckets[name] > 0 then
            numbers[#numbers + 1], numbers[#numbers + 2] = name, string.format('%d', buckets[name])
            added[#added + 1], added[#added + 2] = name, name
        else
            gone[#gone + 1] = name
            if not is_past(name) then will('ZREMRANGEBYSCORE', KEYS[9], name, name) end
        end
    end
    if #due > 0 then will('ZREMRANGEBYSCORE', KEYS[9], '-inf', due[#due]) end
    if #gone > 0 then will('HDEL', KEYS[8], unpack(gone)) end
    if #added > 0 then will('ZADD', KEYS[9], unpack(added)) end
    will('HSET', KEYS[8], unpack(numbers))
end
if #moves > 0 then will('RPUSH', KEYS[10], unpack(moves)) end
if #moves > 0 and over then will('PEXPIRE', KEYS[10], redis.call('PTTL', KEYS[2])) end
if #records > 0 or #moves > 0 then move_stock() end
if #entries > 0 then will('RPUSH', KEYS[5], unpack(entries)) end
if #records > 0 then will('HSET', KEYS[4], unpack(records)) end
local words = {}
for user in pairs(changed) do
    words[#words + 1], words[#words + 2] = user, string.format('%d%s', bought[user], holds[user])
end
if #words > 0 then will('HSET', KEYS[6], unpack(words)) end

-- Redis 8 counts the words; four are enough for all of these.
for _, write in ipairs(writes) do may(unpack(write, 1, math.min(#write, 4))) end
local place = #moves > 0 and not denied and ask('moves', try(unpack(writes[1])))
if denied or #moves > 0 and not place then
    for i = 1, #writes > 0 and count or 0 do
        if string.sub(answers[i], 1, 1) ~= '=' then answers[i] = denied and denied.err or damaged end
    end
else
    for i, write in ipairs(writes) do
        if i > 1 or #moves == 0 then redis.call(unpack(write)) end
    end
    if settled then redis.call('HSET', KEYS[8], 'settled', string.format('%d%s', place, epoch)) end
end
return {left or -1, reserved, settled and not denied and place or 0, unpack(answers)}
