-- The guard around a caller's script, `body`, which stands before this fragment.
-- KEYS  1..5 as in fair.lua (for a hash 5 is the channel), then the body's
-- ARGV  1 token, 2 fence, 3 claim window in ms, 4 kind: 's', 'h' or 'f', 5 '1': release afterwards,
--       '2': likewise, and run the body whether the lock is ours or not, then the body's
-- Reply {0} when the lock is not ours or a later fence was issued; else {1, the body's reply}, or
--       {2, the body's reply} when releasing failed on the way: the lock may be free or not;
--       {3, the body's reply} when it was run although the lock is not ours
local token, kind = ARGV[1], ARGV[4]
local seen = redis.pcall('MGET', KEYS[1], KEYS[2]) -- another type is as good as nothing
if seen.err then return redis.error_reply('NOPERM ' .. seen.err) end
local has, fence = unpack(seen)
if kind == 'h' then has = redis.pcall('HEXISTS', KEYS[1], token) == 1 and token end
local issued_to = string.format('%s %s %s', ARGV[2], kind == 'h' and 'h' or 's', token)
local ours = has == token and fence == issued_to
if not ours and ARGV[5] ~= '2' then return {0} end
local reply = body(tail(KEYS, 6), tail(ARGV, 6), ARGV[2])
if type(reply) == 'table' and reply.err then return reply end
local released = ARGV[5] == '0' or not ours or pcall(function()
    if kind == 'f' then return hand_on(ARGV[3], '') end
    redis.call('DEL', KEYS[1])
    if kind == 'h' then -- without the right to publish, waiters wait for their re-check
        redis.pcall('PUBLISH', KEYS[5], '0')
        redis.pcall('SPUBLISH', KEYS[5], '0')
    end
end)
if reply == nil then reply = false end -- as Redis has it: no value ends the list of values
return {not ours and 3 or released and 1 or 2, reply}
