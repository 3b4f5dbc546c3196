-- Describes units to a slate that is being built.
-- ARGV: bits, build, then unit and either its capacity or 'b' for blocked.

if turn_to_next() ~= ARGV[2] then return 0 end
for i = 3, #ARGV, 2 do
  if ARGV[i + 1] == 'b' then
    redis.call('HSET', slate, 'b:' .. ARGV[i], 1)
    if with_bits then write_bit(tonumber(ARGV[i])) end
  else
    redis.call('HSET', slate, 'c:' .. ARGV[i], ARGV[i + 1])
  end
end
return 1
