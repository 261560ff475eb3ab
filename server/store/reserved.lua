-- Shared by scripts that report reservations; comes after state.lua. Writes nothing.
local BUCKET_US = 100000

-- Finds damage where buckets and units have different names, and counts the buckets.
local function check_buckets()
    local kept = ask('buckets', try('ZCARD', KEYS[9]))
    local fields = ask('reserved', try('HLEN', KEYS[8]))
    if kept and fields and kept ~= fields - 3 then fault('buckets') end
    if kept == 0 and reserved > 0 then fault('reserved') end
    return kept or 0
end

-- us of Redis's clock, but never before the latest time that was used for a decision.
local function present(time)
    return math.max(time[1] * 1000000 + time[2], tonumber(decided_us or 0))
end

-- A record as it is to be reported: the state of a reservation that has expired is not in its record.
local function told(record, time)
    local ends = held and string.match(record, ' reserved (%d+)$')
    if not ends or present(time) < ends * BUCKET_US then return record end
    return (string.gsub(record, ' reserved (%d+)$', ' expired %1'))
end
