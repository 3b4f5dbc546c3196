-- Lets locks live on.
-- KEYS: one a unit. ARGV: who, how long from now (ms).
-- Rule: only one's own, and only while all of them are: a lock that was lost is not taken again behind its new owner's
-- back.

for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
return 1
