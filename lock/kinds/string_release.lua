-- KEYS  names
-- ARGV  1 token (more is ignored)
-- Reply 1: released, 0: free already, -1: somebody else's
local freed, strange = 0, 0
for i = 1, #KEYS do
    local has = owner(KEYS[i])
    if has == ARGV[1] then
        redis.call('DEL', KEYS[i])
        freed = 1
    elseif has then
        strange = -1
    end
end
return strange < 0 and strange or freed
