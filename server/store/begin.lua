-- Shared beginning of the scripts that begin an epoch of a ledger; epochs.h has the form of the text.
-- Nothing is written here.

-- The epochs with another one, `name`, for a ledger of so many orders; one without orders is not kept.
-- `run` is the server's, nil = as it was. nil: they are no epochs of this ledger.
local function begin(epochs, name, orders, run)
    local epoch, first, older, before = string.match(epochs, '^(%x+) (%d+)(.*) (%S+)$')
    local next = orders + 1
    if not epoch or tonumber(first) > next then return nil end
    if tonumber(first) < next then older = ' ' .. epoch .. ' ' .. first .. older end
    return name .. ' ' .. string.format('%.0f', next) .. older .. ' ' .. (run or before)
end
