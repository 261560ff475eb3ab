-- What scripts that tell of reservations share; comes after state.lua. Nothing is written here.
local BUCKET_US = 100000

-- Notes what is wrong where buckets and units have not the same names, and how many buckets there are.
local function check_buckets()
    local kept = ask('buckets', try('ZCARD', KEYS[9]))
    local fields = ask('reserved', try('HLEN', KEYS[8]))
    if kept and fields and kept ~= fields - 3 then fault('buckets') end
    if kept == 0 and reserved > 0 then fault('reserved') end
    return kept or 0
end

-- us of Redis's clock, which does not go back behind what was decided by it.
local function present(time)
    return math.max(time[1] * 1000000 + time[2], tonumber(decided_us or 0))
end

-- A record as it is to be told: of a reservation whose time is over, which nothing may have noted as yet.
local function told(record, time)
    local ends = held and string.match(record, ' reserved (%d+)$')
    if not ends or present(time) < ends * BUCKET_US then return record end
    return (string.gsub(record, ' reserved (%d+)$', ' expired %1'))
end
