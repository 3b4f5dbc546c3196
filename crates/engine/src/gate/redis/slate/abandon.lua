-- Gives up a rebuild that came to nothing.
-- KEYS: the lease, what was built so far. ARGV: build.
-- Rule: only one's own. A lease that ran out may be another's by now, and so may the slate that is being built.

if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
if redis.call('HGET', KEYS[2], 'build') == ARGV[1] then redis.call('UNLINK', KEYS[2], KEYS[3]) end
return 1
