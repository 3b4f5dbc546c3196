-- Asks the judge about everybody who came along, one after another in one step.
-- ARGV: bits, mark, now (the ledger's clock), how long a pass lives (ms), then claims; their ends are not looked at.
-- Returns one answer a claim.

local answers, at = {}, 5
while at <= #ARGV do
  local hold, claim, after = claim_at(at)
  answers[#answers + 1] = judge(hold, claim)
  at = after
end
return answers
