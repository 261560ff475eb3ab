-- buy.lua - wrk buys from a sale that it starts, each buy with a request id of its own.
--
--   wrk -t3 -c100 -d5s -s loadtest/examples/buy.lua http://127.0.0.1:7000
--
-- From the environment: TARGETS (127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002; the threads take
-- them in turn, the first one is asked for the stock), ITEM (P0001), STRATEGY (combined), STOCK
-- (1000) and FLASHSALE_ADMIN_TOKEN.
--
-- The last line compares what buyers were told with GET /stock; wrk exits with 1 unless they agree.
-- `unknown` counts answers that are neither yes nor no (504), `cut off` requests without an answer
-- when wrk ended: both may have an order.

local function setting(name, default) return os.getenv(name) or default end
local item, strategy = setting("ITEM", "P0001"), setting("STRATEGY", "combined")
local stock = tonumber(setting("STOCK", "1000"))
local targets = {}
for target in setting("TARGETS", "127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002"):gmatch("[^,]+") do
    targets[#targets + 1] = target
end
local threads = {}

-- What curl answers; the token stays out of its command line.
local function curl(words)
    local token = [[if [ -n "$FLASHSALE_ADMIN_TOKEN" ]; then
        printf 'header = "Authorization: Bearer %s"\n' "$FLASHSALE_ADMIN_TOKEN"; fi | ]]
    local pipe = io.popen(token .. "curl -sS -K - " .. words)
    local answer = pipe:read("*a")
    pipe:close()
    return answer
end

local function fail(what, answer)
    io.stderr:write("buy.lua: ", what, ": ", answer, "\n")
    os.exit(2)
end

local function number(answer, name)
    return tonumber(answer:match('"' .. name .. '":(%d+)')) or fail("GET /stock", answer)
end

-- ---- once, before the threads ------------------------------------------------------------------

local started -- the sale

local function start_sale()
    local body = string.format('{"item":"%s","stock":%d,"strategy":"%s"}', item, stock, strategy)
    local answer = curl(string.format("-d '%s' http://%s/sales", body, targets[1]))
    return answer:match('"sale":"(%w+)"') or fail("POST /sales", answer)
end

function setup(thread)
    started = started or start_sale()
    threads[#threads + 1] = thread
    local host, port = targets[(#threads - 1) % #targets + 1]:match("^(.*):(%d+)$")
    thread.addr = wrk.lookup(host, port)[1]
    thread:set("turn", #threads)
    thread:set("sale", started)
end

-- ---- in each thread, which has variables of its own --------------------------------------------

-- wrk takes one request of the first thread to look at it, and does not send it.
function init()
    asked = turn == 1 and -1 or 0
    sold, refused, unknown, path = 0, 0, 0, "/buy?item=" .. item .. "&sale=" .. sale
end

function request()
    asked = asked + 1
    local id = string.format("%s-%d-%d", sale, turn, asked)
    return wrk.format("POST", path .. "&user=u" .. id, {["Idempotency-Key"] = id})
end

function response(status)
    if status == 201 then
        sold = sold + 1
    elseif status >= 400 and status < 500 or status == 503 then
        refused = refused + 1
    else
        unknown = unknown + 1
    end
end

-- ---- once, after them --------------------------------------------------------------------------

-- `open` may have an order or not.
local function judge(told, open, now)
    if number(now, "oversold") > 0 then return "OVERSOLD" end
    if number(now, "lost_updates") > 0 then return "LOST UPDATES" end
    local orders = number(now, "orders")
    return orders >= told and orders <= told + open and "agrees" or "DIFFERS"
end

function done()
    local sum = {asked = 0, sold = 0, refused = 0, unknown = 0}
    for _, thread in ipairs(threads) do
        for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
    end
    local now = curl(string.format("'http://%s/stock?item=%s'", targets[1], item))
    if now:match('"sale":"(%w+)"') ~= started then fail("GET /stock is not this sale's", now) end
    local open = sum.asked - sum.sold - sum.refused
    local verdict = judge(sum.sold, open, now)
    print(string.format("%s: told sold %d, unknown %d, cut off %d; stock: %d orders of %d, " ..
        "oversold %d, lost updates %d: %s", strategy, sum.sold, sum.unknown, open - sum.unknown,
        number(now, "orders"), number(now, "initial"), number(now, "oversold"),
        number(now, "lost_updates"), verdict))
    io.stdout:flush()
    if verdict ~= "agrees" then os.exit(1) end
end
