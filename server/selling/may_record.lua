-- Whether the order of one buyer may be recorded: asked before its units are taken from the stock
-- (read_then_write.c), and again when it is recorded (record.lua). Nothing is written here.
--
-- Comes after state.lua, which tells KEYS and ARGV 1 to 4.
-- ARGV  5 "<fence> <instance>" for the record
--       6 request  7 user  8 units  9 not_after in us of Redis's clock
--
-- Leaves `refused`: nil = it may, "=" and the record it had before, or "closed", "epoch", "damaged <key>",
-- "rolled_back <highest order number>", "void", "late", "limit". What this user of Redis may not do
-- is replied as an error.
local units = tonumber(ARGV[8])
local time = ask('time', try('TIME'))
local now = time and time[1] * 1000000 + time[2]
local had = ask('orders', try('HGET', KEYS[4], ARGV[6]))
local has = limit and ask('users', try('HGET', KEYS[6], ARGV[7]))
has = has and number_of(has, 'users') or 0
if sold and not canonical(string.format('%.0f', sold + units)) then fault('sold') end
may('INCRBY', KEYS[2], units) -- to put them back
may('HSET', KEYS[4], ARGV[6], '')
may('INCRBY', KEYS[3], units)
may('RPUSH', KEYS[5], ARGV[6])
if limit then may('HSET', KEYS[6], ARGV[7], units) end

local refused
if had == '-' then refused = 'void'
elseif had then refused = misplaced(ARGV[6], had) or '=' .. had
elseif denied then return denied
elseif refusal() then refused = refusal()
elseif now > tonumber(ARGV[9]) then refused = 'late'
elseif limit and has + units > limit then refused = 'limit'
end
