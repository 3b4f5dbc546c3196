-- The `lua` judge: stock, limit per holder and seat state in one step.
-- ARGV: see `ask.lua`.
-- Rule: a no leans on committed claims only, and never meets a holder who has one of these units already: the ledger
-- may owe it its own hold back.

local ready, limit, cap = trusted(ARGV[2], tonumber(ARGV[3]))

local function judge(hold, claim)
  if ready ~= PASS then return { ready } end
  for i = 1, #claim.units, 2 do
    if redis.call('HEXISTS', slate, 'o:' .. claim.units[i] .. ':' .. claim.holder) == 1 then return { UNJUDGED } end
  end

  local wait = false
  if limit > 0 then
    local stake = redis.call('HMGET', slate, 's:' .. claim.holder, 'q:' .. claim.holder)
    local used = tonumber(stake[1] or 0)
    if used + claim.stake > limit then return { LIMIT, limit, used } end
    wait = used + tonumber(stake[2] or 0) + claim.stake > limit
  end

  local full = full_of(claim.units, cap)
  if full then return full end
  for i = 1, #claim.units, 2 do
    local held, booked, on_the_way, _, room = unit_at(claim.units[i], cap)
    wait = wait or held + booked + on_the_way + claim.units[i + 1] > room
  end
  if wait then return { WAIT } end
  note_pass(hold, claim, tonumber(ARGV[4]))
  return { PASS }
end
