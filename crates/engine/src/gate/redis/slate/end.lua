-- Ends claims: released, cancelled.
-- ARGV: bits, how long to remember the end (ms), holds.
-- Rule: the end is remembered, so that a report of the same hold's beginning that arrives later changes nothing.

local now = redis_now()
for i = 3, #ARGV do
  erase(ARGV[i])
  give_back(ARGV[i])
  redis.call('ZADD', gone, now + tonumber(ARGV[2]), ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now)
redis.call('PEXPIRE', gone, ARGV[2])
return 1
