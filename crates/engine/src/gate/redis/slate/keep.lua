-- Keeps committed claims: holds placed, extended, left, returned to or booked, and what a rebuild reads from the books.
-- ARGV: bits, the build this belongs to or '', then claims.
-- Rule: a claim that is gone stays gone, and the newest word about one counts; so it does not matter when this arrives.
-- Where nobody has begun to build, nothing is kept: the next build wipes it and reads the books.

local build = redis.call('HGET', slate, 'build')
if not build or (ARGV[2] ~= '' and build ~= ARGV[2]) then return 0 end
local at = 3
while at <= #ARGV do
  local hold, claim, after = claim_at(at)
  if not redis.call('ZSCORE', gone, hold) then
    local old = claim_of(hold)
    if not old or claim.version > (old.version or 0) then
      erase(hold)
      write(hold, claim)
    end
  end
  give_back(hold)
  at = after
end
return 1
