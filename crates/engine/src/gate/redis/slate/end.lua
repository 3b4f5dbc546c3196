-- Ends claims: released, cancelled.
-- ARGV: bits, how long to remember the end (ms), holds.
-- Rule: the end is remembered, so that a report of the same hold's beginning that arrives later changes nothing. The
-- slate that is being built remembers it by itself, however long that takes: it may be filled with older news.

local now = redis_now()
for i = 3, #ARGV do
  erase(ARGV[i])
  give_back(ARGV[i])
  redis.call('ZADD', gone, now + tonumber(ARGV[2]), ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now)
redis.call('PEXPIRE', gone, ARGV[2])
if turn_to_next() then
  for i = 3, #ARGV do
    erase(ARGV[i])
    redis.call('HSET', slate, 'g:' .. ARGV[i], 1)
  end
end
return 1
