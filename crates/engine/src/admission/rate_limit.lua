-- Whether a caller may ask now: a bucket that leaks one request every so often (GCRA).
-- KEYS: of the caller. ARGV: the time one request takes to leak (µs), how many fit.
-- Rule: Redis's own clock, for it is one for all nodes. Returns 0 and counts the request, or after how many µs it may
-- come again and counts nothing.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local filled_to = tonumber(redis.call('GET', KEYS[1]) or 0)
-- Fuller than full: a failover has brought a clock that is behind the one it was filled by. Nobody can tell how full it
-- was, and left as it is it would stay full for as long as the clocks are apart.
if filled_to > now + burst * each then filled_to = now end
local empty_at = math.max(filled_to, now) + each
local wait = empty_at - burst * each - now
if wait > 0 then return wait end
redis.call('SET', KEYS[1], string.format('%.0f', empty_at), 'PX', math.ceil((empty_at - now) / 1000))
return 0
