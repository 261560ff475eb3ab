-- How a latch stands.
-- KEYS  1 latch
-- Reply see latch.lua
local latch, strange = read_latch()
return tell(latch and 1 or strange and -2 or -1, latch)
