-- Fragment: who owns the string lock at `key`. nil when it is free, '' when a key of another type
-- stands there: that is a stranger's.
local function owner(key)
    local token = redis.pcall('GET', key)
    if type(token) == 'table' then return '' end
    return token or nil
end
