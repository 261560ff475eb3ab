-- A process's heartbeat, and a check of its waiters: missing entries are queued again, and what is
-- free is handed on.
-- KEYS  as in shares.lua
-- ARGV  1 process, 2 claim window in ms, 3... tokens of its waiters that sleep
-- Reply {ms until a share may end or -1, tokens that hold one by now: their wake-up may be lost...}
local denied = may_not('PEXPIRE', KEYS[3], ARGV[2]) or may_not('PEXPIREAT', KEYS[1], ARGV[2])
denied = denied or other_family()
if denied then return denied end
claim(KEYS[2], family, 0)
purge(ARGV[1] .. ':')
beat(ARGV[1])
keep()
local some = in_beats('HRANDFIELD') -- in time all that are gone are forgotten
local then_ms = tonumber(in_beats('HGET', some)) or 0
if string.sub(some, 1, 1) == '!' then
    if not has(string.sub(some, 2)) then in_beats('HDEL', some) end
elseif now_ms - then_ms > KEEP_MS then
    in_beats('HDEL', some)
end
tidy()
local waiting, reply = queued(), {0}
for i = 3, #ARGV do
    if has(ARGV[i]) then
        table.insert(reply, ARGV[i])
    elseif not waiting[ARGV[i]] then
        enqueue_again(ARGV[i])
    end
end
hand_on(ARGV[2])
reply[1] = next_end()
return reply
