-- The `bitmap` judge: one bit a unit says whether anything is claimed of it.
-- ARGV: see `ask.lua`.
-- Rule: a bit that is not set passes without another look. A bit has no end and no count, so one that is set is only
-- worth a second look (`worth_a_look` in `slate.lua`): the slate says whether the claim still lives and what room is
-- left. Whoever has some of it already, or reached the limit, is the ledger's to answer.

local ready, limit, cap = trusted(ARGV[2], tonumber(ARGV[3]))

local function judge()
  return { ready == PASS and UNJUDGED or ready }
end
