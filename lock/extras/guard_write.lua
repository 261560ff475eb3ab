-- The guard around a caller's script, `body`, under a writer's hold: guard.lua for a sorted set. The
-- body and shares.lua stand before this fragment; KEYS are the lock's alone, body_keys the body's.
-- KEYS  1..5 as in shares.lua
-- ARGV  1 token, 2 fence, 3 claim window in ms, 4 not used, 5 as in guard.lua, then the body's
-- Reply as guard.lua's
local token = ARGV[1]
local seen = redis.pcall('MGET', KEYS[2])
if seen.err then return redis.error_reply('NOPERM ' .. seen.err) end
local ends = has(token)
local ours = ends and tonumber(ends) > now_ms and seen[1] == ARGV[2] .. ' r ' .. token
if not ours and ARGV[5] ~= '2' then return {0} end
local reply = body(body_keys, tail(ARGV, 6), ARGV[2])
if type(reply) == 'table' and reply.err then return reply end
local released = ARGV[5] == '0' or not ours or pcall(function()
    purge(token)
    redis.call('ZREM', KEYS[1], token)
    hand_on(ARGV[3])
end)
if reply == nil then reply = false end -- as Redis has it: no value ends the list of values
return {not ours and 3 or released and 1 or 2, reply}
