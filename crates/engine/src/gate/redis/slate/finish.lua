-- Ends a rebuild: from here on the slate may be believed.
-- ARGV: bits, build, mark, how long an unused slate is kept (ms), limit (0: none), opens, closes, capacity of a unit.
-- KEYS[5]: the lease.
-- Rule: only the build that began last may, and only if nothing was amended meanwhile (that takes its name away).

if redis.call('HGET', slate, 'build') ~= ARGV[2] then return 0 end
redis.call('HSET', slate, 'limit', ARGV[5], 'opens', ARGV[6], 'closes', ARGV[7], 'cap', ARGV[8],
  'built', redis_now(), 'mark', ARGV[3])
for _, key in ipairs({ slate, due, passing }) do redis.call('PEXPIRE', key, ARGV[4]) end
redis.call('DEL', KEYS[5])
return 1
