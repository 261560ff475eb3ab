-- A waiter leaves: removes it from the queue, and what was handed on to it meanwhile. The rest is a
-- holder's release, shares_release.lua, which follows this fragment.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply as shares_release.lua's
in_queue('LREM', 0, ARGV[1])
in_beats('HDEL', '!' .. ARGV[1])
