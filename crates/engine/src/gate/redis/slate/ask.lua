-- Asks the judge about everybody who came along, in one step.
-- ARGV: bits, mark, now (the ledger's clock), how long a pass lives (ms), then wishes: stake, number of units, unit and
-- quantity of each, number of those who share the wish, hold and holder of each.
-- Returns how many in a row are told the same, and what: two lists of the same length.
-- Rule: what nobody can have is looked up once for all who want it. Those to whom something else may have to be said,
-- because they have some of it already or have reached the limit, are put to the judge one by one.

local function fields_of(units, holders)
  local fields = {}
  for i = 1, #units, 2 do
    local own = 'o:' .. units[i] .. ':'
    for _, holder in ipairs(holders) do fields[#fields + 1] = own .. holder end
  end
  return fields
end

-- Who of these holders has some of the units, or would be over the limit.
local function special(units, stake, holders)
  local found = {}
  local own = redis.call('HMGET', slate, unpack(fields_of(units, holders)))
  for i = 1, #own do
    if own[i] then found[(i - 1) % #holders + 1] = true end
  end
  if limit > 0 then
    local stakes = {}
    for i, holder in ipairs(holders) do stakes[i] = 's:' .. holder end
    for i, used in ipairs(redis.call('HMGET', slate, unpack(stakes))) do
      if tonumber(used or 0) + stake > limit then found[i] = true end
    end
  end
  return found
end

local alike, answers, at = {}, {}, 5

local function tell(answer)
  if answers[#answers] == answer then
    alike[#alike] = alike[#alike] + 1
  else
    alike[#alike + 1], answers[#answers + 1] = 1, answer
  end
end

while at <= #ARGV do
  local stake, units, holds, holders = tonumber(ARGV[at]), {}, {}, {}
  local askers = at + 2 + 2 * tonumber(ARGV[at + 1])
  for i = at + 2, askers - 1 do units[#units + 1] = tonumber(ARGV[i]) end
  at = askers + 1 + 2 * tonumber(ARGV[askers])
  for i = askers + 1, at - 1, 2 do
    holds[#holds + 1] = ARGV[i]
    holders[#holders + 1] = ARGV[i + 1]
  end
  local full = ready == PASS and full_of(units, cap)
  local ones = full and special(units, stake, holders)
  for i, holder in ipairs(holders) do
    tell(full and not ones[i] and full
      or judge(holds[i], { holder = holder, ends = 0, stake = stake, units = units }))
  end
end
return { alike, answers }
