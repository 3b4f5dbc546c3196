-- The `bitmap` judge: one bit a unit says whether anything is claimed of it.
-- ARGV: see `ask.lua`.
-- Rule: a bit that is not set passes without another look. A bit has no end and no count, so one that is set is only
-- worth a second look: the slate says whether the claim still lives, whose it is and what room is left.

local about = redis.call('HMGET', slate, 'mark', 'build')
local ready, limit, cap

local function judge(_, claim)
  if about[1] ~= ARGV[2] then return { UNREADY } end
  local looked_at = {}
  for i = 1, #claim.units, 2 do
    local key, offset = bits_of(claim.units[i], about[2])
    if redis.call('GETBIT', key, offset) == 1 then
      looked_at[#looked_at + 1] = claim.units[i]
      looked_at[#looked_at + 1] = claim.units[i + 1]
    end
  end
  if #looked_at == 0 then return { UNJUDGED } end

  if not ready then ready, limit, cap = trusted(ARGV[2], tonumber(ARGV[3])) end
  if ready ~= PASS then return { ready } end
  local full = { FULL }
  for i = 1, #looked_at, 2 do
    local unit, qty = looked_at[i], looked_at[i + 1]
    local held, booked, _, blocked, room = unit_at(unit, cap)
    if redis.call('HEXISTS', slate, 'o:' .. unit .. ':' .. claim.holder) == 1 then return { UNJUDGED } end
    if blocked or held + booked + qty > room then
      full[#full + 1] = unit
      full[#full + 1] = blocked and 1 or 0
      full[#full + 1] = state_of(held, booked, blocked, room)
    end
  end
  if #full == 1 or over_limit(limit, claim) then return { UNJUDGED } end
  return full
end
