-- What scripts that tell of reservations share; comes after state.lua. Nothing is written here.

-- us of Redis's clock, which does not go back behind what was decided by it.
local function present(time)
    return math.max(time[1] * 1000000 + time[2], tonumber(decided_us or 0))
end

-- A record as it is to be told: of a reservation whose time is over, which nothing may have noted as yet.
local function told(record, time)
    local ends = held and string.match(record, ' reserved (%d+)$')
    if not ends or present(time) < ends * 100000 then return record end
    return (string.gsub(record, ' reserved (%d+)$', ' expired %1'))
end
