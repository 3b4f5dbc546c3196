-- The `decr` judge: counted stock and nothing else.
-- ARGV: see `ask.lua`.
-- Rule: take first, look after, and put back what was too much, all by the claim's id. What is on its way counts as
-- taken; it makes others wait, and only what is committed refuses them.

local ready, limit, cap = trusted(ARGV[2], tonumber(ARGV[3]))

local function judge(hold, claim)
  if ready ~= PASS then return { ready } end
  note_pass(hold, claim, tonumber(ARGV[4]))
  local too_much, own = false, false
  for i = 1, #claim.units, 2 do
    local unit = claim.units[i]
    local held, booked, on_the_way, blocked, room = unit_at(unit, cap)
    if room - held - booked - on_the_way < 0 or blocked then
      too_much = true
      own = own or redis.call('HEXISTS', slate, 'o:' .. unit .. ':' .. claim.holder) == 1
    end
  end
  if not too_much then return { PASS } end
  give_back(hold)
  if own or over_limit(limit, claim) then return { UNJUDGED } end
  return full_of(claim.units, cap) or { WAIT }
end
