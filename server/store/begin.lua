-- Shared by the scripts that begin an epoch of a ledger; epochs.h has the form of the text. Writes
-- nothing.

-- Adds epoch `name` to the epochs of a ledger with so many orders; drops the newest if it has no orders.
-- `run` is the server's, nil = unchanged. Returns nil if these are not epochs of this ledger.
local function begin(epochs, name, orders, run)
    local epoch, first, older, before = string.match(epochs, '^(%x+) (%d+)(.*) (%S+)$')
    local next = orders + 1
    if not epoch or tonumber(first) > next then return nil end
    if tonumber(first) < next then older = ' ' .. epoch .. ' ' .. first .. older end
    return name .. ' ' .. string.format('%.0f', next) .. older .. ' ' .. (run or before)
end
