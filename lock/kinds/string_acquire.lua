-- Takes all names or none.
-- KEYS  names, then as many fence counters, then as many queues, then as many beats
-- ARGV  1 token, 2 lease in ms, 3 number of names, 4 not after, see late()
-- Reply {1, fence, clock us, 0}, refusal()'s, or {2, clock us}: too late
-- A name that already has this token counts as free: an earlier reply was lost.
if late() then return {2, clock()} end
local names, mine = tonumber(ARGV[3]), true
for i = 1, names do
    local has, counter = owner(KEYS[i]), KEYS[names + i]
    if has and has ~= ARGV[1] and string.find(has, '^[^/]*/%d+/%x+:%d+$') then -- this library's
        return {0, redis.call('PTTL', KEYS[i]), 0, 0}
    end
    if has ~= ARGV[1] and (has or not may_be_of(counter, 's')) then
        local refused = refusal(KEYS[i], counter, 's', KEYS[2 * names + i],
            KEYS[3 * names + i], nil, has)
        if has or refused.err then return refused end
    end
    mine = mine and has == ARGV[1]
end
local fence, now = next_fence(names + 1, 2 * names, ARGV[2], 's', ARGV[1], mine)
for i = 1, names do
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
return {1, fence, now, 0}
