-- A shelf's numbers, all of the same moment.
-- KEYS  1 stock  2 sold  3 ledger
-- Reply {units left, units ordered, orders}
return {
    tonumber(redis.call('GET', KEYS[1]) or -1), tonumber(redis.call('GET', KEYS[2]) or -1),
    redis.call('LLEN', KEYS[3])
}
