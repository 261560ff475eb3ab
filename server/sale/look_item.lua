-- Reads an item's own tag: the pointer to its current sale, and a sale's terms.
-- KEYS  1 current sale  2 cfg of the wanted sale  3 its epochs  4 its lost orders
-- Reply {pointer, "" = none, "?" = not a string, or an empty one; fields and values of cfg, {} = not a hash;
--       us of this server's clock; the epochs, "" = none; fields and values of lost, {} = not a hash}
local pointer = redis.call('TYPE', KEYS[1]).ok
pointer = pointer == 'none' and '' or pointer == 'string' and redis.call('GET', KEYS[1]) or '?'
if pointer == '' and redis.call('EXISTS', KEYS[1]) == 1 then pointer = '?' end
local cfg = redis.call('TYPE', KEYS[2]).ok == 'hash' and redis.call('HGETALL', KEYS[2]) or {}
local epochs = redis.call('TYPE', KEYS[3]).ok == 'string' and redis.call('GET', KEYS[3]) or ''
local lost = redis.call('TYPE', KEYS[4]).ok == 'hash' and redis.call('HGETALL', KEYS[4]) or {}
local time = redis.call('TIME')
return {pointer, cfg, time[1] * 1000000 + time[2], epochs, lost}
