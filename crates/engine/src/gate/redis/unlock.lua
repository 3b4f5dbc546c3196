-- Unlocks units of one offer.
-- KEYS: one a unit. ARGV: who.
-- Rule: only one's own. A lock that ran out may be another's by now.

for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return 1
