-- Begins a new epoch of a ledger, for a server that is another run than the one of its epochs.
--
-- KEYS  1 current sale  2 ledger  3 epochs
-- ARGV  1 the sale: otherwise nothing is done  2 the epochs as they were seen: likewise  3 the new epoch
--       4 the server's run
-- Reply the epochs as they stand there then; "": the sale is not the current one, or has none
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return '' end
local epochs = redis.call('GET', KEYS[3])
if epochs ~= ARGV[2] then return epochs or '' end
local epoch, first, older = string.match(epochs, '^(%x+) (%d+)(.*) %S+$')
local next = redis.call('LLEN', KEYS[2]) + 1
if not epoch or tonumber(first) > next then return '' end
if tonumber(first) < next then older = ' ' .. epoch .. ' ' .. first .. older end -- else it has no order
epochs = ARGV[3] .. ' ' .. string.format('%.0f', next) .. older .. ' ' .. ARGV[4]
redis.call('SET', KEYS[3], epochs)
return epochs
