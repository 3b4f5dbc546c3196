-- Whether somebody may claim more while so much of what they claimed is not confirmed.
-- KEYS: of the claimer. ARGV: the claim's name, how many units, how many may be unconfirmed, for how long they count (ms).
-- Rule: a name that is there already is a retry and counts once. Returns 0 and counts it, -1 for a retry, or after how
-- many ms there is room again.

local name, units = ARGV[1], tonumber(ARGV[2])
local limit, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local member = units .. ':' .. name
if redis.call('ZSCORE', KEYS[1], member) then return -1 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now)
local claimed = redis.call('ZRANGEBYSCORE', KEYS[1], 0, '+inf', 'WITHSCORES')
local total, last = units, now + window
for i = 1, #claimed, 2 do
  total = total + tonumber(string.match(claimed[i], '^%d+'))
  last = math.max(last, tonumber(claimed[i + 1]))
end
for i = 1, #claimed, 2 do
  if total <= limit then break end
  total = total - tonumber(string.match(claimed[i], '^%d+'))
  if total <= limit then return math.max(1, tonumber(claimed[i + 1]) - now) end
end
if total > limit then return window end
redis.call('ZADD', KEYS[1], now + window, member, -now, SEEN)
redis.call('PEXPIRE', KEYS[1], last - now)
return 0
