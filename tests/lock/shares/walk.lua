-- Takes one state of a small world every step further that can be taken there, by the lock's own
-- scripts. Comes after `body`, a table of them: body.acquire(redis, KEYS, ARGV) and so on.
-- KEYS  as the scripts have them
-- ARGV  1 world, 2 state ('' = the first one), both JSON
-- Reply {what the state itself violates or '', {step, next state, violation or '', witness...}...}
--
-- Time is the walk's own: the scripts are given a `redis` whose clock stands still through a step,
-- at BASE, and whose expiries count from there. That lies so far ahead that Redis ends nothing by
-- itself; what has ended in the walk's time is taken away before each step.
local BASE, KEEP, STALE = 4102444800000, 60000, 2000
local world = cjson.decode(ARGV[1])
local LEASE, CLAIM = world.lease, world.claim
local lock, fence_key, queue_key, beats_key, wake, permits_key = unpack(KEYS)

-- ---- the scripts' redis -------------------------------------------------------------------------

local told = {} -- channel -> messages

local timed = {
    PUBLISH = function(channel, message)
        told[channel] = told[channel] or {}
        table.insert(told[channel], message)
    end,
    TIME = function() return {tostring(BASE / 1000), '0'} end,
    PEXPIRE = function(key, ms) return redis.call('PEXPIREAT', key, BASE + ms) end,
    PTTL = function(key)
        local at = redis.call('PEXPIRETIME', key)
        return at < 0 and at or at - BASE
    end,
    SET = function(key, value, px, ms)
        if not px then return redis.call('SET', key, value) end
        return redis.call('SET', key, value, 'PXAT', BASE + ms)
    end,
    HRANDFIELD = function(key) -- any will do: nothing is so old here that it is forgotten
        return redis.call('HKEYS', key)[1]
    end,
}

local function call(command, ...)
    if timed[command] then return timed[command](...) end
    return redis.call(command, ...)
end

local theirs = {call = call, pcall = call, error_reply = redis.error_reply,
    acl_check_cmd = function() return true end}

-- ---- states -------------------------------------------------------------------------------------

-- A state: lock: {token, ms left}..., ends: ms left to the key itself (false: none), fence: how far
-- the last one is ahead of the clock (-1: behind it, -2: none), issued: to which token, queue: tokens, beats: {process,
-- age}..., handed and again: tokens with such a mark, permits, clients: {state, ms left, late
-- questions left, tries left, 1: the first question is under way still}..., dead: process, long:
-- long times left, losses: so often a companion key vanishes yet.
-- A client is idle, waits, holds, is done, or gone with its process. What a writer gets by a
-- downgrade, world.reads[token], is a client of its own that does nothing before: unborn.

local function in_list(list, what)
    for i, one in ipairs(list) do
        if one == what then return i end
    end
end

local function process(token) return string.match(token, '^(.*):') end

local function weight(token)
    if string.find(token, '%*w$') then return math.huge end
    return tonumber(string.match(token, '%*(%d+)$') or 1)
end

local all_keys = {lock, fence_key, queue_key, beats_key, permits_key}

local function first_state()
    local clients = {}
    for i in ipairs(world.tokens) do clients[i] = {'idle', 0, world.late, world.tries, 0} end
    for _, token in pairs(world.reads) do clients[in_list(world.tokens, token)][1] = 'unborn' end
    return {lock = {}, ends = false, fence = -2, issued = '-', queue = {}, beats = {}, handed = {}, again = {},
        permits = permits_key and world.permits or 0, clients = clients, dead = '',
        long = world.long, losses = world.losses or 0}
end

-- Always the same text for the same state.
local function text_of(s)
    return cjson.encode({s.lock, s.ends, s.fence, s.queue, s.beats, s.handed, s.again, s.permits,
        s.clients, s.dead, s.long, s.issued, s.losses})
end

local function state_of(text)
    local t = cjson.decode(text)
    return {lock = t[1], ends = t[2], fence = t[3], queue = t[4], beats = t[5], handed = t[6],
        again = t[7], permits = t[8], clients = t[9], dead = t[10], long = t[11], issued = t[12],
        losses = t[13]}
end

-- A sign of life that is not fresh grows old at once: how long that takes makes no other states.
local function aged(ms) return ms > 2 * world.tick and world.oldest or ms end

local function copied(list)
    local ret = {}
    for i, one in ipairs(list) do
        ret[i] = type(one) == 'table' and {unpack(one)} or one
    end
    return ret
end

-- The same state, to be changed.
local function copy(s)
    return {lock = copied(s.lock), ends = s.ends, fence = s.fence, issued = s.issued, losses = s.losses,
        queue = copied(s.queue),
        beats = copied(s.beats), handed = s.handed, again = s.again, permits = s.permits,
        clients = copied(s.clients), dead = s.dead, long = s.long}
end

local function put_all(command, key, words)
    if #words > 0 then redis.call(command, key, unpack(words)) end
end

local function put(s)
    local members, fields = {}, {}
    local function field(name, value)
        table.insert(fields, name)
        table.insert(fields, value)
    end
    redis.call('DEL', unpack(all_keys))
    told = {}
    for _, m in ipairs(s.lock) do
        table.insert(members, BASE + m[2])
        table.insert(members, m[1])
    end
    for _, b in ipairs(s.beats) do field(b[1], BASE - b[2]) end
    for _, token in ipairs(s.handed) do field('!' .. token, 1) end
    for _, token in ipairs(s.again) do field(token, BASE) end
    put_all('ZADD', lock, members)
    put_all('RPUSH', queue_key, s.queue)
    put_all('HSET', beats_key, fields)
    if s.ends then redis.call('PEXPIREAT', lock, BASE + s.ends) end
    if s.fence > -2 then
        local fence = string.format('%.0f %s %s', BASE * 1000 + s.fence, permits_key and 'p' or 'r',
            s.issued)
        redis.call('SET', fence_key, fence, 'PXAT', BASE + LEASE)
    end
    if #s.queue > 0 then redis.call('PEXPIREAT', queue_key, BASE + KEEP) end
    if #fields > 0 then redis.call('PEXPIREAT', beats_key, BASE + KEEP) end
    if permits_key then redis.call('SET', permits_key, s.permits, 'PXAT', BASE + LEASE) end
end

-- What the step left in Redis; the rest stays as `s` has it.
local function take(s)
    local new = {lock = {}, queue = redis.call('LRANGE', queue_key, 0, -1), beats = {}, handed = {},
        again = {}, permits = s.permits, clients = copied(s.clients), dead = s.dead, long = s.long,
        losses = s.losses, issued = '-'}
    local members = redis.call('ZRANGE', lock, 0, -1, 'WITHSCORES')
    for i = 1, #members, 2 do table.insert(new.lock, {members[i], members[i + 1] - BASE}) end
    local ends = redis.call('PEXPIRETIME', lock)
    new.ends = ends > 0 and ends - BASE
    local fence, _, token = string.match(redis.call('GET', fence_key) or '', '^(%d+) (%l) (.*)$')
    new.fence = fence and math.max(fence - BASE * 1000, -1) or -2
    new.issued = token or '-'
    local fields = redis.call('HGETALL', beats_key)
    local found = {}
    for i = 1, #fields, 2 do found[fields[i]] = fields[i + 1] end
    for _, who in ipairs(world.processes) do
        if found[who] then table.insert(new.beats, {who, aged(BASE - found[who])}) end
    end
    for _, token in ipairs(world.tokens) do
        if found['!' .. token] then table.insert(new.handed, token) end
        if found[token] then table.insert(new.again, token) end
    end
    if permits_key then new.permits = tonumber(redis.call('GET', permits_key) or -1) end
    return new
end

local function passed(s, ms)
    local new = copy(s)
    for _, m in ipairs(new.lock) do m[2] = math.max(m[2] - ms, -1) end
    if new.ends and new.ends - ms < 0 then -- the key itself is over
        new.lock, new.ends = {}, false
    end
    if new.ends then new.ends = new.ends - ms end
    if new.fence > -2 then new.fence = -1 end
    for _, b in ipairs(new.beats) do b[2] = aged(b[2] + ms) end
    for _, c in ipairs(new.clients) do
        c[2] = math.max(c[2] - ms, 0)
        if c[1] == 'holds' and c[2] == 0 then c[1] = 'done' end -- and knows that it is lost
    end
    return new
end

-- ---- looking at states --------------------------------------------------------------------------

local function live(s)
    local ret = {}
    for _, m in ipairs(s.lock) do
        if m[2] > 0 then ret[m[1]] = m[2] end
    end
    return ret
end

local function age(s, who)
    for _, b in ipairs(s.beats) do
        if b[1] == who then return b[2] end
    end
    return math.huge
end

local function taken(holders)
    local sum, count = 0, 0
    for token in pairs(holders) do
        sum, count = sum + (permits_key and weight(token) or 0), count + 1
        if weight(token) == math.huge then sum = math.huge end
    end
    return sum, count
end

-- What is wrong with a state by itself.
local function broken(s)
    local holders, seen, last = live(s), {}, nil
    local sum, count = taken(holders)
    if sum == math.huge and count > 1 then return 'a writer beside another holder' end
    for _, token in ipairs(s.queue) do
        if seen[token] then return 'twice in the queue' end
        if holders[token] then return 'a holder in the queue' end
        seen[token] = true
    end
    for _, m in ipairs(s.lock) do
        if m[2] > LEASE then return 'a share without an end' end
        last = math.max(last or m[2], m[2])
    end
    if last and (not s.ends or s.ends < last or s.ends > LEASE) then
        return 'the key does not end after the last share'
    end
    for i, c in ipairs(s.clients) do
        if c[1] == 'holds' and (holders[world.tokens[i]] or 0) < c[2] then
            return 'a holder that Redis does not know of'
        end
    end
end

-- The process of the token was found dead by what lapses in this step: it left a share handed on.
local function found_dead(s, token, asking)
    if process(token) == asking then return false end
    for _, handed in ipairs(s.handed) do
        if process(handed) == process(token) and not live(s)[handed] then return true end
    end
end

-- Whether a waiter must be taken for alive.
local function counts(s, token, asking)
    return age(s, process(token)) <= STALE and not found_dead(s, token, asking)
end

-- ---- one step -----------------------------------------------------------------------------------

-- What went wrong from `old` to `new`; `own` is the token of whoever asked, `who` its process.
local function misstep(old, new, own, who, name)
    local before, after = live(old), live(new)
    local reads = string.find(name, 'downgrade') and world.reads[own] -- comes in without a queue
    local used = taken(after)
    for token in pairs(after) do
        if not before[token] and permits_key and used > new.permits then
            return token .. ' got more permits than there are'
        end
        local at = in_list(old.queue, token) or #old.queue + 1
        for i = 1, (before[token] or token == reads) and 0 or at - 1 do
            local first = old.queue[i]
            local wants_too_much = permits_key and weight(first) > new.permits
            if first ~= own and not after[first] and not wants_too_much and
                counts(old, first, who) then
                return token .. ' overtook ' .. first
            end
        end
        if not before[token] and token ~= own and token ~= reads and
            not in_list(told[wake .. process(token)] or {}, token) then
            return token .. ' was not woken'
        end
    end
    for _, token in ipairs(old.queue) do
        if token ~= own and not in_list(new.queue, token) and not after[token] and
            counts(old, token, who) then
            return token .. ' was put out of the queue'
        end
    end
    for token, left in pairs(before) do
        if token ~= own and (after[token] or 0) < left then return token .. ' lost its share' end
    end
    if string.find(name, 'renew') or world.by_ones then return end -- nothing, or less, is handed on
    for _, token in ipairs(new.queue) do
        local want = weight(token)
        if want == math.huge or not permits_key or want <= new.permits then
            local fits = want == math.huge and next(after) == nil or want < math.huge and
                used < math.huge and (not permits_key or used + want <= new.permits)
            if fits and age(new, process(token)) <= STALE then
                return token .. ' was forgotten'
            end
            return
        end
    end
end

-- Whether the fence in the reply is the one that is due.
local function wrong_fence(old, new, token, reply, name)
    local told = tonumber(reply[2]) - BASE * 1000
    local mine = live(old)[token] and old.issued == token
    if string.find(name, 'downgrade') or weight(token) < math.huge and not permits_key then
        if old.fence == -2 then return tonumber(reply[2]) ~= 0 end
        return math.max(told, -1) ~= old.fence
    end
    if mine then return math.max(told, -1) ~= old.fence end
    return told <= old.fence or told ~= new.fence
end

local function ask(s, script, ...)
    put(s)
    local argv = {}
    for i, arg in ipairs({...}) do argv[i] = tostring(arg) end
    local ok, reply = pcall(body[script], theirs, KEYS, argv)
    local bad = not ok and tostring(reply.err or reply) or type(reply) == 'table' and reply.err
    if bad then error(script .. ': ' .. bad, 0) end
    return take(s), reply
end

-- The client hears what its acquire came to.
local function hear(new, i, reply, waits)
    local c = new.clients[i]
    if reply[1] == 1 then
        c[1], c[2] = 'holds', LEASE
    else
        c[1] = waits and 'waits' or 'idle'
    end
end

local steps = {}

local function step(list, name, i, run)
    table.insert(list, {name = name, client = i, run = run})
end

local function acquire(s, i, mode)
    return ask(s, 'acquire', world.tokens[i], LEASE, CLAIM, mode, world.permits or 0, 0)
end

local function sleepers(s, who)
    local ret = {}
    for i, c in ipairs(s.clients) do
        local token = world.tokens[i]
        if process(token) == who and c[1] == 'waits' then table.insert(ret, token) end
    end
    return ret
end

local function downgrade(s, token)
    return ask(s, 'downgrade', token, world.reads[token], LEASE, CLAIM, 0)
end

function steps.of_client(list, s, i)
    local token, c = world.tokens[i], s.clients[i]
    local function asks(name, mode, waits)
        step(list, name, i, function()
            local new, reply = acquire(s, i, mode)
            if name == 'try' then new.clients[i][4] = c[4] - 1 end
            hear(new, i, reply, waits)
            return new, reply
        end)
    end
    local function goes(name, script, ends)
        step(list, name, i, function()
            local new, reply = ask(s, script, token, CLAIM)
            if ends then new.clients[i][1], new.clients[i][2] = 'done', 0 end
            return new, reply
        end)
    end
    if c[1] == 'idle' then
        asks('acquire', 1, true)
        if c[3] > 0 then
            step(list, 'sending', i, function()
                local new = copy(s)
                new.clients[i][1], new.clients[i][5] = 'waits', 1
                return new
            end)
        end
        if c[4] > 0 then asks('try', 0, false) end
    elseif c[1] == 'waits' then
        asks('again', 2, true)
        goes('leave', 'leave', true)
    elseif c[1] == 'holds' then
        goes('release', 'release', true)
        step(list, 'renew', i, function()
            local new, reply = ask(s, 'renew', token, LEASE)
            if reply == 1 then new.clients[i][2] = LEASE end
            return new, reply
        end)
        if world.reads[token] then
            step(list, 'downgrade', i, function()
                local new, reply = downgrade(s, token)
                new.clients[i][1], new.clients[i][2] = 'done', 0
                if reply[1] == 1 then
                    local reader = new.clients[in_list(world.tokens, world.reads[token])]
                    reader[1], reader[2] = 'holds', LEASE
                end
                return new, reply
            end)
        end
    elseif c[1] == 'done' then
        goes('decline', 'decline')
    end
end

-- What comes late: it is heard by nobody. A first question comes once; those behind it may have
-- been sent by the dozen.
function steps.late(list, s, i)
    local token, c = world.tokens[i], s.clients[i]
    local function comes(name, run)
        step(list, name, i, function()
            local new, reply = run()
            new.clients[i][3] = c[3] - 1
            return new, reply
        end)
    end
    if c[5] == 1 then
        step(list, 'late acquire', i, function()
            local new, reply = acquire(s, i, 1)
            new.clients[i][5] = 0
            return new, reply
        end)
    end
    if c[3] == 0 or c[1] == 'idle' or c[1] == 'unborn' then return end
    comes('late again', function() return acquire(s, i, 2) end)
    if c[1] == 'done' then
        local reader = world.reads[token] and in_list(world.tokens, world.reads[token])
        if reader and s.clients[reader][1] ~= 'unborn' then
            comes('late downgrade', function() return downgrade(s, token) end)
        end
        comes('late renewal', function() return ask(s, 'renew', token, LEASE) end)
        comes('late release', function() return ask(s, 'release', token, CLAIM) end)
        comes('late beat', function() return ask(s, 'beat', process(token), CLAIM, token) end)
    end
end

local function beat(s, who) return ask(s, 'beat', who, CLAIM, unpack(sleepers(s, who))) end

local function all_steps(s)
    local list = {}
    for i, token in ipairs(world.tokens) do
        if s.dead ~= process(token) then steps.of_client(list, s, i) end
        steps.late(list, s, i)
    end
    for _, who in ipairs(world.processes) do
        if s.dead ~= who and #sleepers(s, who) > 0 then
            step(list, 'beat ' .. who, nil, function() return beat(s, who) end)
        end
        if s.dead == '' and world.dies then
            step(list, 'death of ' .. who, nil, function()
                local new = copy(s)
                new.dead = who
                for i, token in ipairs(world.tokens) do -- what was sent may come yet
                    local c = new.clients[i]
                    if process(token) == who then
                        if c[1] == 'idle' or c[1] == 'unborn' then c[3] = 0 end
                        c[1], c[2] = 'gone', 0
                    end
                end
                return new
            end)
        end
    end
    for _, number in ipairs(permits_key and world.sets or {}) do
        if number ~= s.permits then
            step(list, 'set ' .. number, nil, function()
                return ask(s, 'set', number, LEASE, CLAIM)
            end)
        end
    end
    for _, what in ipairs(s.losses > 0 and {'beats', 'queue'} or {}) do
        step(list, what .. ' vanish', nil, function()
            local new = copy(s)
            new.losses = s.losses - 1
            new.queue = what == 'queue' and {} or new.queue
            if what == 'beats' then new.beats, new.handed, new.again = {}, {}, {} end
            return new
        end)
    end
    step(list, 'time', nil, function() return passed(s, world.tick) end)
    if s.long > 0 then
        step(list, 'long time', nil, function()
            local new = passed(s, world.oldest)
            new.long = s.long - 1
            return new
        end)
    end
    return list
end

-- ---- what the walk must have been through -------------------------------------------------------

local function witnesses(old, new, own)
    local before, after, ret = live(old), live(new), {}
    local sum, count = taken(after)
    local _, holders = taken(before)
    if count > 1 then table.insert(ret, 'several hold') end
    for token in pairs(after) do
        if not before[token] then
            if token ~= own then table.insert(ret, 'handed on') end
            if weight(token) == math.huge and holders == 0 and #old.lock > 0 then
                table.insert(ret, 'after a lapse')
            end
        end
    end
    for _, token in ipairs(old.queue) do
        if token ~= own and not in_list(new.queue, token) and not after[token] then
            table.insert(ret, process(token) == old.dead and 'dead skipped' or 'living skipped')
        end
    end
    if #new.again > #old.again then table.insert(ret, 'queued again') end
    if permits_key and sum > new.permits then table.insert(ret, 'lowered below what is taken') end
    if permits_key and #new.queue > 0 and weight(new.queue[1]) > new.permits then
        table.insert(ret, 'passed over')
    end
    return ret
end

-- ---- nobody waits forever -----------------------------------------------------------------------

-- Where somebody alive waits and nobody alive holds anything: signs of life and time alone bring a
-- share to one who waits, unless all that wait want more than there is.
local function stuck(s)
    local waiting = false
    for i, c in ipairs(s.clients) do
        if c[1] == 'holds' then return false end
        waiting = waiting or c[1] == 'waits' and
            not (permits_key and weight(world.tokens[i]) > s.permits)
    end
    if not waiting then return false end
    for _ = 1, world.rounds do
        for _, who in ipairs(world.processes) do
            if #sleepers(s, who) > 0 then s = beat(s, who) end
        end
        local holders = live(s)
        for i, c in ipairs(s.clients) do
            if c[1] == 'waits' and holders[world.tokens[i]] then return false end
        end
        s = passed(s, CLAIM)
    end
    return true
end

local s = ARGV[2] == '' and first_state() or state_of(ARGV[2])
local ret = {broken(s) or stuck(s) and 'all wait forever' or ''}
for _, one in ipairs(all_steps(s)) do
    local token = world.tokens[one.client or 0]
    local new, reply = one.run()
    local wrong = ''
    if reply then
        wrong = misstep(s, new, token, process(token or string.match(one.name, ' (.*)$') .. ':'),
            one.name) or wrong
        if type(reply) == 'table' and token and reply[1] == 1 and
            wrong_fence(s, new, token, reply, one.name) then
            wrong = 'a wrong fence'
        end
    end
    local found = {one.name .. (token and ' of ' .. token or ''), text_of(new), wrong}
    for _, witness in ipairs(reply and witnesses(s, new, token) or {}) do
        table.insert(found, witness)
    end
    table.insert(ret, found)
end
return ret
