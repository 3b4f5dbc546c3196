-- The slate of one offer: what the ledger has committed, chalked up where every node can see it.
-- This text, how a slate is read, goes before every script of it; `write.lua` follows where it is changed.
--
-- Rule: only committed facts stand in the way of anybody. What is said of a claim may arrive twice, late or in any
-- order: the newest counts, and once it is gone it stays gone. What is on its way to the ledger (a pass) makes
-- others wait a moment and never refuses them, so a pass that nobody settles costs time and no sale.
--
-- A slate is built beside the one that is believed, and takes its place in one step when it is whole. Whatever is
-- reported meanwhile is written to both, so that the new one lacks nothing that the old one knew: no end above all.
--
-- KEYS, all with the offer as their hash tag, so that one slot of a Cluster has them all:
--   1 slate    hash  mark, build, built, limit, opens, closes, cap, n (claims that end)
--                    h:<unit> held  k:<unit> booked  p:<unit> passing  b:<unit> blocked  c:<unit> capacity
--                    x:<hold> a claim  y:<hold> a pass
--                    s:<holder> held and booked  q:<holder> passing  o:<unit>:<holder> claims of that holder
--                    w:<unit> who claimed it last, where that claim has not ended
--                    g:<hold> ended while this slate was being built
--   2 due      zset  hold -> when its claim ends, by the ledger's clock
--   3 gone     zset  hold -> when its end may be forgotten, by Redis's clock
--   4 passing  zset  hold -> when its pass is given up, by Redis's clock
-- and beside them, named after them
--     slate:next, due:next   the slate that is being built
--     bits     set   the strings of bits that there are, where bits are kept
-- ARGV[1] is 1 where a bit is kept for every claimed unit (the `bitmap` gate).

local slate, due, gone, passing = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local with_bits = ARGV[1] == '1'

-- Bits lie in strings of 32768 units, which belong to one build of the slate.
local BLOCK = 32768

local function bits_of(unit, build)
  return KEYS[1] .. ':' .. build .. ':' .. math.floor(unit / BLOCK), unit % BLOCK
end

-- How units stand, where this script has looked: many who ask together want the same one.
local looked = {}

-- What a judge answers.
local PASS, UNJUDGED, WAIT, UNREADY, LIMIT, FULL = 0, 1, 2, 3, 4, 5

-- How a unit stands: held, booked, passing, blocked, capacity.
local function unit_at(unit, cap)
  local at = looked[unit]
    or redis.call('HMGET', slate, 'h:' .. unit, 'k:' .. unit, 'p:' .. unit, 'b:' .. unit, 'c:' .. unit)
  looked[unit] = at
  return tonumber(at[1] or 0), tonumber(at[2] or 0), tonumber(at[3] or 0), at[4], tonumber(at[5] or cap)
end

-- What people are told of a full unit: 0 some is left, 1 held, 2 booked, 3 blocked.
local function state_of(held, booked, blocked, cap)
  if not blocked and held + booked < cap then return 0 end
  if held + booked < cap then return 3 end
  return held > 0 and 1 or 2
end

-- Of the units of a wish those worth a second look: where bits are kept, those whose bit is set.
local function worth_a_look(units)
  if not with_bits then return units end
  local build, set = redis.call('HGET', slate, 'build'), {}
  for i = 1, #units, 2 do
    local key, offset = bits_of(units[i], build)
    if redis.call('GETBIT', key, offset) == 1 then
      set[#set + 1] = units[i]
      set[#set + 1] = units[i + 1]
    end
  end
  return set
end

-- The units of a wish that are blocked or have too little room, as people are told of them; nothing where there are none.
local function full_of(wanted, cap)
  local full
  local units = worth_a_look(wanted)
  for i = 1, #units, 2 do
    local unit, qty = units[i], units[i + 1]
    local held, booked, _, blocked, room = unit_at(unit, cap)
    if blocked or held + booked + qty > room then
      full = full or { FULL }
      full[#full + 1] = unit
      full[#full + 1] = blocked and 1 or 0
      full[#full + 1] = state_of(held, booked, blocked, room)
    end
  end
  return full
end

-- Whether the slate may be believed: built for this mark, and nothing of it lost. Returns its limit and capacity.
-- Rule: what has ended may still stand on it.
local function believed(mark, now)
  local about = redis.call('HMGET', slate, 'mark', 'opens', 'closes', 'n', 'limit', 'cap')
  if about[1] ~= mark then return UNREADY end
  if redis.call('ZCARD', due) ~= tonumber(about[4] or 0) then
    redis.call('HDEL', slate, 'mark')
    return UNREADY
  end
  if now < tonumber(about[2]) or now >= tonumber(about[3]) then return UNJUDGED end
  return PASS, tonumber(about[5] or 0), tonumber(about[6])
end
