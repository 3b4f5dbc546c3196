-- The slate of one offer: what the ledger has committed, chalked up where every node can see it.
-- This text goes before every script of the slate.
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

-- Bits lie in strings of 32768 units. They belong to one build of the slate: the next one begins with new strings, and
-- the old are dropped. What nobody comes back to expires, as does a slate that nobody finishes.
local BLOCK, LIVE_MS = 32768, 86400000
local bits = string.gsub(KEYS[1], 'slate$', 'bits')

local function redis_now()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

local function bump(field, by)
  local sum = redis.call('HINCRBY', slate, field, by)
  if sum == 0 then redis.call('HDEL', slate, field) end
  return sum
end

local function bits_of(unit, build)
  return KEYS[1] .. ':' .. build .. ':' .. math.floor(unit / BLOCK), unit % BLOCK
end

local function write_bit(unit)
  local build = redis.call('HGET', slate, 'build')
  if not build then return end
  local taken = redis.call('HMGET', slate, 'h:' .. unit, 'k:' .. unit, 'b:' .. unit)
  local key, offset = bits_of(unit, build)
  redis.call('SETBIT', key, offset, (taken[1] or taken[2] or taken[3]) and 1 or 0)
  redis.call('SADD', bits, key)
  for _, kept in ipairs({ key, bits }) do redis.call('PEXPIRE', kept, LIVE_MS) end
end

-- Of every build but this one.
local function drop_other_bits(build)
  local kept = build and KEYS[1] .. ':' .. build .. ':'
  for _, key in ipairs(redis.call('SMEMBERS', bits)) do
    if not kept or string.sub(key, 1, #kept) ~= kept then
      redis.call('UNLINK', key)
      redis.call('SREM', bits, key)
    end
  end
end

-- How units stand, where this script has looked: many who ask together want the same one.
local looked = {}

-- From here on this script speaks of the slate that is being built. Returns the name of that build, if there is one.
local function turn_to_next()
  slate, due, looked = KEYS[1] .. ':next', KEYS[2] .. ':next', {}
  return redis.call('HGET', slate, 'build')
end

-- Adds a claim to the sums, or takes it out again.
local function count(sum, stakes, claim, sign)
  for i = 1, #claim.units, 2 do
    local unit, qty = claim.units[i], claim.units[i + 1]
    looked[unit] = nil
    bump(sum .. unit, sign * qty)
    if sum ~= 'p:' then
      bump('o:' .. unit .. ':' .. claim.holder, sign)
      if sign > 0 then
        redis.call('HSET', slate, 'w:' .. unit, claim.holder)
      else
        redis.call('HDEL', slate, 'w:' .. unit)
      end
      if with_bits then write_bit(unit) end
    end
  end
  bump(stakes .. claim.holder, sign * claim.stake)
end

-- What belongs to the slate goes with it.
local function lives_with_slate(key)
  local left = redis.call('PTTL', slate)
  if left > 0 then redis.call('PEXPIRE', key, left) end
end

local function sum_of(claim)
  return claim.ends == 0 and 'k:' or 'h:'
end

local function claim_of(hold)
  local packed = redis.call('HGET', slate, 'x:' .. hold)
  return packed and cmsgpack.unpack(packed)
end

local function erase(hold)
  local claim = claim_of(hold)
  if claim then
    count(sum_of(claim), 's:', claim, -1)
    redis.call('HDEL', slate, 'x:' .. hold)
    if claim.ends ~= 0 then bump('n', -1) end
  end
  redis.call('ZREM', due, hold)
end

local function write(hold, claim)
  count(sum_of(claim), 's:', claim, 1)
  redis.call('HSET', slate, 'x:' .. hold, cmsgpack.pack(claim))
  if claim.ends ~= 0 then
    bump('n', 1)
    redis.call('ZADD', due, claim.ends, hold)
    lives_with_slate(due)
  end
end

local function give_back(hold)
  local packed = redis.call('HGET', slate, 'y:' .. hold)
  if packed then
    count('p:', 'q:', cmsgpack.unpack(packed), -1)
    redis.call('HDEL', slate, 'y:' .. hold)
  end
  redis.call('ZREM', passing, hold)
end

local function note_pass(hold, claim, live_ms)
  give_back(hold)
  count('p:', 'q:', claim, 1)
  redis.call('HSET', slate, 'y:' .. hold, cmsgpack.pack(claim))
  redis.call('ZADD', passing, redis_now() + live_ms, hold)
  lives_with_slate(passing)
end

-- Takes out claims that have ended and passes that were given up, so many at a time. Whether all are out.
local SWEEP = 64
local function sweep(now)
  local ended = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, SWEEP)
  for _, hold in ipairs(ended) do erase(hold) end
  if redis.call('ZCARD', passing) > 0 then
    local lost = redis.call('ZRANGEBYSCORE', passing, '-inf', redis_now(), 'LIMIT', 0, SWEEP)
    for _, hold in ipairs(lost) do give_back(hold) end
  end
  return #ended < SWEEP
end

-- A claim from ARGV[at] on: hold, holder, end (0: never), version, stake, number of units, then unit and quantity of each.
-- Returns the hold, the claim and where the next one begins.
local function claim_at(at)
  local claim = {
    holder = ARGV[at + 1],
    ends = tonumber(ARGV[at + 2]),
    version = tonumber(ARGV[at + 3]),
    stake = tonumber(ARGV[at + 4]),
    units = {},
  }
  local after = at + 6 + 2 * tonumber(ARGV[at + 5])
  for i = at + 6, after - 1 do claim.units[#claim.units + 1] = tonumber(ARGV[i]) end
  return ARGV[at], claim, after
end

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

-- What a judge answers.
local PASS, UNJUDGED, WAIT, UNREADY, LIMIT, FULL = 0, 1, 2, 3, 4, 5

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
local function trusted(mark, now)
  local about = redis.call('HMGET', slate, 'mark', 'opens', 'closes', 'n', 'limit', 'cap')
  if about[1] ~= mark then return UNREADY end
  if redis.call('ZCARD', due) ~= tonumber(about[4] or 0) then
    redis.call('HDEL', slate, 'mark')
    return UNREADY
  end
  if now < tonumber(about[2]) or now >= tonumber(about[3]) or not sweep(now) then return UNJUDGED end
  return PASS, tonumber(about[5] or 0), tonumber(about[6])
end

-- Whether the holder would be over the limit: a reason that comes before a full unit, and is the ledger's to give where
-- the judge does not look at limits.
local function over_limit(limit, claim)
  return limit > 0 and tonumber(redis.call('HGET', slate, 's:' .. claim.holder) or 0) + claim.stake > limit
end
