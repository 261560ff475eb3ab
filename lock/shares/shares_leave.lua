-- A waiter goes: out of the queue, and without what was handed on to it meanwhile. The rest is a
-- holder's release, which comes behind.
-- KEYS  as in shares.lua
-- ARGV  1 token, 2 claim window in ms
-- Reply as shares_release.lua's
in_queue('LREM', 0, ARGV[1])
in_beats('HDEL', '!' .. ARGV[1])
