-- Ends a rebuild: the new slate takes the place of the old one and may be believed.
-- ARGV: bits, build, mark, how long an unused slate is kept (ms), limit (0: none), opens, closes, capacity of a unit.
-- KEYS[5]: the lease.
-- Rule: only the build that began last may, and only if nothing was amended meanwhile (that takes it away). Passes stay
-- behind with the old slate: whoever waited for one asks the ledger. The old one is dropped behind everybody's back: it
-- may be large.

if turn_to_next() ~= ARGV[2] then return 0 end
redis.call('HSET', slate, 'limit', ARGV[5], 'opens', ARGV[6], 'closes', ARGV[7], 'cap', ARGV[8],
  'built', redis_now(), 'mark', ARGV[3])
redis.call('UNLINK', KEYS[1], KEYS[2], passing)
redis.call('RENAME', slate, KEYS[1])
if redis.call('EXISTS', due) == 1 then redis.call('RENAME', due, KEYS[2]) end
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
if with_bits then drop_other_bits(ARGV[2]) end
redis.call('DEL', KEYS[5])
return 1
