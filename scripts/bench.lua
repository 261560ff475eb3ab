-- bench.lua - what wrk asks and reports: each of its threads buys from one instance.
-- Environment: FLASHSALE_PORTS, BENCH_PATH ("/buy?..." is posted, anything else fetched).
-- Last line: "bench: <answers> <us> <p50 us> <p99 us> <p999 us> <errors>"
local ports = {}
for port in os.getenv("FLASHSALE_PORTS"):gmatch("%d+") do ports[#ports + 1] = port end
local threads = 0

function setup(thread)
    threads = threads + 1
    thread.addr = wrk.lookup("127.0.0.1", ports[(threads - 1) % #ports + 1])[1]
end

function init()
    wrk.path = os.getenv("BENCH_PATH")
    wrk.method = wrk.path:match("^/buy") and "POST" or "GET"
    prepared = wrk.format()
end

function request()
    return prepared
end

function done(summary, latency)
    local e = summary.errors
    print(string.format("bench: %d %d %d %d %d %d", summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
        e.connect + e.read + e.write + e.status + e.timeout))
end
