-- Whether the order of one buyer may be recorded: asked before its units are taken from the stock
-- (read_then_write.c), and again when it is recorded (record.lua). Nothing is written here.
--
-- Comes after state.lua, which tells KEYS and ARGV 1 to 3.
-- ARGV  4 "<fence> <instance>" for the record
--       5 request  6 user  7 units  8 not_after in us of Redis's clock
--
-- Leaves `refused`: nil = it may, "=" and the record it had before, or "closed", "damaged <key>",
-- "rolled_back <highest order number>", "void", "late", "limit". What this user of Redis may not do
-- is replied as an error.
local units = tonumber(ARGV[7])
local time = ask('time', try('TIME'))
local now = time and time[1] * 1000000 + time[2]
local had = ask('orders', try('HGET', KEYS[4], ARGV[5]))
local has = limit and ask('users', try('HGET', KEYS[6], ARGV[6]))
has = has and number_of(has, 'users') or 0
if sold and not canonical(string.format('%.0f', sold + units)) then fault('sold') end
may('INCRBY', KEYS[2], units) -- to put them back
may('HSET', KEYS[4], ARGV[5], '')
may('INCRBY', KEYS[3], units)
may('RPUSH', KEYS[5], ARGV[5])
if limit then may('HSET', KEYS[6], ARGV[6], units) end

local refused
if had == '-' then refused = 'void'
elseif had then refused = misplaced(ARGV[5], had) or '=' .. had
elseif denied then return denied
elseif refusal() then refused = refusal()
elseif now > tonumber(ARGV[8]) then refused = 'late'
elseif limit and has + units > limit then refused = 'limit'
end
