-- Records the order of a buyer whose stock was taken in a step before: the second half of the
-- strategies that read, check and write. That it is a second half is their flaw: what was taken is
-- put back when this refuses, by the caller when this replies an error, and is lost when this never
-- runs.
--
-- Begins with state.lua and may_record.lua, which tell KEYS and ARGV 1 to 9.
-- ARGV  10 units left
--
-- Reply the order's record, or why not as may_record.lua has it.
if refused then
    if left then redis.pcall('INCRBY', KEYS[2], units) end
    return refused
end

local record = number + 1 .. ' ' .. ARGV[7] .. ' ' .. ARGV[8] .. ' ' .. ARGV[10] .. ' ' .. ARGV[5]
    .. ' ' .. string.format('%.0f', now) .. ' ' .. string.sub(ARGV[4], 1, 12) .. ' sold'
redis.call('HSET', KEYS[4], ARGV[6], record)
redis.call('INCRBY', KEYS[3], units)
redis.call('RPUSH', KEYS[5], ARGV[6])
if limit then redis.call('HSET', KEYS[6], ARGV[7], has + units) end
return record
