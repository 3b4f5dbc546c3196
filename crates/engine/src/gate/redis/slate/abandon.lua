-- Gives up a rebuild that came to nothing.
-- KEYS: the lease. ARGV: build.
-- Rule: only one's own. A lease that ran out may be another's by now.

if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
