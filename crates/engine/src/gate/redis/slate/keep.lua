-- Keeps committed claims: holds placed, extended, left, returned to or booked, and what a rebuild reads from the books.
-- ARGV: bits, the build this belongs to or '', then claims.
-- Rule: a claim that is gone stays gone, and the newest word about one counts; so it does not matter when this arrives.
-- What is reported goes to the slate there is and to the one being built, what a rebuild reads to the latter only. Where
-- there is neither, nothing is kept: the next build reads the books.

local is_built = ARGV[2] ~= ''

local function is_gone(hold)
  return redis.call('ZSCORE', gone, hold) or is_built and redis.call('HEXISTS', slate, 'g:' .. hold) == 1
end

local function chalk_up()
  local at = 3
  while at <= #ARGV do
    local hold, claim, after = claim_at(at)
    if not is_gone(hold) then
      local old = claim_of(hold)
      if not old or claim.version > (old.version or 0) then
        erase(hold)
        write(hold, claim)
      end
    end
    -- Passes are noted on the slate there is, and given back by whoever was let pass.
    if not is_built then give_back(hold) end
    at = after
  end
end

if is_built then
  if turn_to_next() ~= ARGV[2] then return 0 end
  chalk_up()
  return 1
end
if redis.call('HGET', slate, 'build') then chalk_up() end
if turn_to_next() then chalk_up() end
return 1
