-- Looks at what a crowd wants, without asking who they are.
-- ARGV: bits, mark, now (the ledger's clock), then wishes: number of units, unit and quantity of each.
-- Returns two lists, wish by wish: what to tell everybody, and whom not, because some of it is theirs. Nothing to tell
-- where it depends on who asks: something is left, several share a unit, or holders have a limit.
-- Rule: takes nothing out, and is short for it. Where something has ended nothing is told, and a judge takes it out.

local now = tonumber(ARGV[3])
local ready, limit, cap = believed(ARGV[2], now)

local function has_ended()
  return #redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 1) > 0
end

local is_told = ready == PASS and limit == 0 and not has_ended()

-- Who has some of these units; nothing where nobody can say.
-- Rule: a name counts only where the sums agree that it is the one there is. Nodes that write no names may be about.
local function owners_of(units)
  local owners = {}
  for i = 1, #units, 2 do
    local held, booked = unit_at(units[i], cap)
    if held + booked > 0 then
      local owner = redis.call('HGET', slate, 'w:' .. units[i])
      if held + booked > 1 or not owner then return nil end
      if redis.call('HEXISTS', slate, 'o:' .. units[i] .. ':' .. owner) == 0 then return nil end
      owners[#owners + 1] = owner
    end
  end
  return owners
end

local told, whose, at = {}, {}, 4
while at <= #ARGV do
  local units, after = {}, at + 1 + 2 * tonumber(ARGV[at])
  for i = at + 1, after - 1 do units[#units + 1] = tonumber(ARGV[i]) end
  at = after
  local full = is_told and full_of(units, cap)
  local owners = full and owners_of(units)
  told[#told + 1] = owners and full or {}
  whose[#whose + 1] = owners or {}
end
return { told, whose }
