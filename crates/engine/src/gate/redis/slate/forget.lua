-- What the slate says of the offer itself is no longer so.
-- ARGV: bits.
-- Rule: nobody believes the slate there is, and a build under way is void: it may have read the books before this.

redis.call('HDEL', slate, 'mark', 'build')
turn_to_next()
redis.call('UNLINK', slate, due)
return 1
