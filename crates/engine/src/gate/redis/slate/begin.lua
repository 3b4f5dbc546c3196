-- Begins a rebuild: one builder at a time, from nothing.
-- ARGV: bits, build, lease (ms), mark, the youngest slate of that mark that is worth rebuilding (ms). KEYS[5]: the lease.
-- Rule: facts reported from now on are written to the new slate, and the books are read after this, so that nothing
-- committed falls between. What is gone stays remembered. An older build that wakes up finds another build's name here
-- and can write no more.

local now = redis_now()
local about = redis.call('HMGET', slate, 'mark', 'built')
if about[1] == ARGV[4] and now - tonumber(about[2] or 0) < tonumber(ARGV[5]) then return 0 end
if not redis.call('SET', KEYS[5], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
redis.call('DEL', slate, due, passing)
if with_bits then drop_bits() end
redis.call('HSET', slate, 'build', ARGV[2])
redis.call('PEXPIRE', slate, LIVE_MS)
return 1
