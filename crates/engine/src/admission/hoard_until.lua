-- Says anew for how long claims of one claimer count.
-- KEYS: of the claimer. ARGV: the claim as it is kept, for how long from now (ms).
-- Rule: only what is counted. What was bought or given back meanwhile is not counted again.

if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1], -now, SEEN)
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], math.max(1, tonumber(last[2]) - now))
return 1
