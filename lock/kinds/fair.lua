-- Fragment: the fair queue. Comes after fence.lua and queue.lua.
-- KEYS  1 lock, 2 fence counter, 3 queue, 4 beats (and '!' -> token granted, not yet taken up),
--       5 prefix of the channels on which processes are woken, one each

-- Gives the lock to the first waiter whose process lives, for the claim window, and wakes it with
-- "token fence window-ms": only so the waiter knows its fence and expiry. The lock must be free, or
-- the caller's. `asking` is the token that asks; it needs no waking.
-- Returns the token granted; nil: nobody waits, and the lock is now free.
local function hand_on(claim_ms, asking)
    while true do
        local token = in_queue('LPOP')
        if not token then
            redis.call('DEL', KEYS[1])
            in_beats('HDEL', '!')
            return nil
        end
        if lives(token, asking) then
            local fence = next_fence(2, 2, claim_ms, 's', token)
            redis.call('SET', KEYS[1], token, 'PX', claim_ms)
            in_beats('HSET', '!', token)
            if token ~= asking then
                -- A hint: if it is lost, the next heartbeat reports the grant.
                redis.pcall('PUBLISH', KEYS[5] .. process(token),
                    string.format('%s %.0f %s', token, fence, claim_ms))
            end
            return token
        end
    end
end

-- The same, if the lock has ended without a release. A grant that was not taken up ('!' is still
-- there) shows a dead or stopped process. Its beat is removed, so that all its entries are passed
-- over at once, unless it is the process that asks: that one lives.
local function recover(claim_ms, asking)
    if not may_be_of(KEYS[2], 's') then return nil end
    local lapsed = in_beats('HGET', '!')
    if lapsed and process(lapsed) ~= process(asking) then
        in_beats('HDEL', process(lapsed))
    end
    return hand_on(claim_ms, asking)
end
