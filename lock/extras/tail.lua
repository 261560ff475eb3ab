-- Fragment: the words of a list from `first` on. unpack() is faster, but takes some 8,000 at most.
local function tail(words, first)
    if #words < 1000 then return {unpack(words, first)} end
    local rest = {}
    for i = first, #words do rest[i - first + 1] = words[i] end
    return rest
end
