-- wrk.lua - what wrk asks and reports. Its threads take the instances in turn.
-- Environment: FLASHSALE_PORTS; BENCH_PATH, with {user} and {item} in it where they belong: a
-- thousand users, BENCH_ITEMS items from the number BENCH_FIRST on, P0001 being 1. All but /livez
-- is posted.
-- Last lines: "bench: <answers> <us> <p50 us> <p99 us> <p999 us> <errors> <refused>", refused being
-- among both answers and errors; and "quantiles: <share>=<us> ...", to put several wrks together.
local users = 1000
local ports, prepared, turn, threads = {}, {}, 0, 0
for port in os.getenv("FLASHSALE_PORTS"):gmatch("%d+") do ports[#ports + 1] = port end

function setup(thread)
    threads = threads + 1
    thread.addr = wrk.lookup("127.0.0.1", ports[(threads - 1) % #ports + 1])[1]
end

function init()
    local path = os.getenv("BENCH_PATH")
    local first = tonumber(os.getenv("BENCH_FIRST") or 1)
    local items = tonumber(os.getenv("BENCH_ITEMS") or 1)
    local method = path == "/livez" and "GET" or "POST"
    for i = 1, users do
        local item = string.format("P%04d", first + i % items)
        prepared[i] = wrk.format(method, (path:gsub("{user}", "u" .. i):gsub("{item}", item)))
    end
end

function request()
    turn = turn % users + 1
    return prepared[turn]
end

function done(summary, latency)
    local e = summary.errors
    print(string.format("bench: %d %d %d %d %d %d %d", summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
        e.connect + e.read + e.write + e.status + e.timeout, e.status))
    local list = {}
    local function add(percent)
        list[#list + 1] = string.format("%.5f=%d", percent / 100, latency:percentile(percent))
    end
    for i = 1, 98 do add(i) end
    for i = 1, 19 do add(98 + i / 10) end -- finer where the tail is
    for i = 1, 10 do add(99.9 + i / 100) end
    print("quantiles: " .. table.concat(list, " "))
end
