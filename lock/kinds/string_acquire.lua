-- Takes all names or none.
-- KEYS  names, then as many fence counters (none: no fence is issued)
-- ARGV  1 token, 2 lease in ms, 3 number of names, 4 not after, see late()
-- Reply {1, fence, clock us, 0}, {0, ms left to the one who has it}, or {2, clock us}: too late
-- A name that already has this token counts as free: an earlier reply was lost.
if late() then return {2, clock()} end
local names, mine = tonumber(ARGV[3]), true
for i = 1, names do
    local has = owner(KEYS[i])
    if has and has ~= ARGV[1] then return {0, redis.call('PTTL', KEYS[i])} end
    mine = mine and has == ARGV[1]
end
local fence, now = next_fence(names + 1, #KEYS, ARGV[2], mine)
for i = 1, names do
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
return {1, fence, now, 0}
