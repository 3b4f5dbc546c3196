-- The `bitmap` judge: one bit a unit says whether anything is claimed of it.
-- ARGV: see `ask.lua`.
-- Rule: a bit that is not set passes without another look. A bit has no end and no count, so one that is set is only
-- worth a second look: the slate says whether the claim still lives, whose it is and what room is left.

local ready, limit, cap = trusted(ARGV[2], tonumber(ARGV[3]))
local build = redis.call('HGET', slate, 'build')

local function judge(_, claim)
  if ready ~= PASS then return { ready } end
  local looked_at = {}
  for i = 1, #claim.units, 2 do
    local key, offset = bits_of(claim.units[i], build)
    if redis.call('GETBIT', key, offset) == 1 then
      looked_at[#looked_at + 1] = claim.units[i]
      looked_at[#looked_at + 1] = claim.units[i + 1]
    end
  end
  if #looked_at == 0 then return { UNJUDGED } end
  for i = 1, #looked_at, 2 do
    if redis.call('HEXISTS', slate, 'o:' .. looked_at[i] .. ':' .. claim.holder) == 1 then return { UNJUDGED } end
  end
  local full = full_of(looked_at, cap)
  if not full or over_limit(limit, claim) then return { UNJUDGED } end
  return full
end
