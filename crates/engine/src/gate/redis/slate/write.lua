-- How a slate is changed. Goes behind `slate.lua` and before every script that does.

-- The next build of a slate begins with new strings of bits, and the old are dropped. What nobody comes back to expires,
-- as does a slate that nobody finishes.
local LIVE_MS = 86400000
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

-- As `believed` in `slate.lua`, of a slate from which everything has been taken that has ended.
local function trusted(mark, now)
  local ready, limit, cap = believed(mark, now)
  if ready == PASS and not sweep(now) then return UNJUDGED end
  return ready, limit, cap
end

-- Whether the holder would be over the limit: a reason that comes before a full unit, and is the ledger's to give where
-- the judge does not look at limits.
local function over_limit(limit, claim)
  return limit > 0 and tonumber(redis.call('HGET', slate, 's:' .. claim.holder) or 0) + claim.stake > limit
end
