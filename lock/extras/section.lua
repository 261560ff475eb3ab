-- A whole critical section in one script: if the lock is free and nobody waits for it, the caller's
-- `body`, which stands before this fragment, runs as if the lock were acquired before it and released
-- after it. Nobody could see that lock, so it is never set; only its fence is issued.
-- KEYS  1..4 as in fair.lua, then the body's
-- ARGV  1 lease in ms, then the body's
-- Reply {0} when somebody has the lock or waits for it; else {1, the body's reply, the fence}
local fence
local looked, why = pcall(function() -- the fence is the first write
    if redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 and redis.call('HEXISTS', KEYS[4], '!') == 0 then
        fence = string.format('%.0f', (next_fence(2, 2, ARGV[1], 's', '-')))
    end
end)
if not looked then
    why = type(why) == 'table' and why.err or why
    if string.find(why, 'WRONGTYPE', 1, true) then return {0} end -- for acquire to mend
    return redis.error_reply('NOPERM ' .. why)
end
if not fence then return {0} end
local reply = body(tail(KEYS, 5), tail(ARGV, 2), fence)
if type(reply) == 'table' and reply.err then return reply end
if reply == nil then reply = false end -- as Redis has it: no value ends the list of values
return {1, reply, fence}
