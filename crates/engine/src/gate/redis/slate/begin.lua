-- Begins a rebuild: one builder at a time, from nothing, beside the slate there is.
-- ARGV: bits, build, lease (ms), mark, the youngest slate of that mark that is worth rebuilding (ms), 1 where the slate
-- there is must not be believed until then. KEYS[5]: the lease.
-- Rule: facts reported from now on are written to the new slate as well, and the books are read after this, so that
-- nothing committed falls between. What is gone stays remembered. Until the new slate is whole the old one is believed,
-- for it hears of everything too. An older build that wakes up finds another build's name here and can write no more.

local now = redis_now()
local about = redis.call('HMGET', slate, 'mark', 'built', 'build')
-- One from the future was built by a server whose clock was ahead of this one's, and says nothing about its age.
local age = now - tonumber(about[2] or 0)
if about[1] == ARGV[4] and age >= 0 and age < tonumber(ARGV[5]) then return 0 end
if not redis.call('SET', KEYS[5], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
if ARGV[6] == '1' then redis.call('HDEL', slate, 'mark') end
if with_bits then drop_other_bits(about[3]) end
turn_to_next()
redis.call('UNLINK', slate, due)
redis.call('HSET', slate, 'build', ARGV[2])
redis.call('PEXPIRE', slate, LIVE_MS)
return 1
