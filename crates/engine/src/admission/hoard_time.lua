-- The time by which claims count. This text goes before every script about them.
-- KEYS: of the claimer. One sorted set, `units:name` by the time until which it counts.
-- Rule: Redis's own clock. A failover may bring one that is behind the one before, by which everything counts for too
-- long. So the set also says by which time it was last written (`0:seen`, below zero, so that it is never over), and
-- where that is yet to come, all of it is moved back by as much.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local SEEN = '0:seen'
local ahead = -tonumber(redis.call('ZSCORE', KEYS[1], SEEN) or 0) - now
if ahead > 0 then
  for _, claim in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 0, '+inf')) do
    redis.call('ZINCRBY', KEYS[1], -ahead, claim)
  end
  redis.call('ZADD', KEYS[1], -now, SEEN)
end
