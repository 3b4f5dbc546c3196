-- Locks units of one offer: all of them, or none.
-- KEYS: one a unit. ARGV: who, how long (ms).
-- Rule: a lock belongs to whoever's name is in it. What was taken on the way to a busy one is put back in this step.

for i = 1, #KEYS do
  if not redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2]) then
    for j = 1, i - 1 do redis.call('DEL', KEYS[j]) end
    return 0
  end
end
return 1
