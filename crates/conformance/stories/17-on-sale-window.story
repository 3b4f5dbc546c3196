# Open from its opening on, closed from its closing on. What is held by then can still be bought.
offer hall seats A:3 opens=+1h closes=+2h
hold h1 alice A-1                  -> not_on_sale offer=hall opens=+3600s closes=+7200s
tick 3599999ms
hold h1 alice A-1                  -> not_on_sale
tick 1ms
hold h1 alice A-1                  -> held ttl=600s
tick 59m
hold h1 alice A-1                  -> held again=none
hold h2 bob A-2                    -> held
tick 1m
hold h3 carol A-3                  -> not_on_sale closes=+0s
hold h1 alice A-1                  -> held again=yes      # one's own hold is still one's own
confirm h1                         -> confirmed
extend h2                          -> extended ttl=600s
confirm h2                         -> confirmed
amend hall closes=none             -> amended
hold h3 carol A-3                  -> held
