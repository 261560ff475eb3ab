-- Begins a new epoch of a ledger when the server is another run than the one that began the newest.
-- Comes after begin.lua.
--
-- KEYS  1 current sale  2 ledger  3 epochs
-- ARGV  1 the sale, which must be the current one  2 the expected epochs  3 the new epoch
--       4 the server's run. If 1 or 2 differs, nothing is done
-- Reply the epochs afterwards; "": the sale is not the current one, or has none
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return '' end
local epochs = redis.call('GET', KEYS[3])
if epochs ~= ARGV[2] then return epochs or '' end
epochs = begin(epochs, ARGV[3], redis.call('LLEN', KEYS[2]), ARGV[4])
if not epochs then return '' end
redis.call('SET', KEYS[3], epochs)
return epochs
