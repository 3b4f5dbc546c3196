# Expired claims on a stock line are written off soonest first, and only as many as the buyer needs.
offer fest stock GA:4 ttl=10s
hold h1 alice GA
tick 1s
hold h2 bob GA
tick 1s
hold h3 carol GA*2
tick 60s
hold h4 dave GA*2                  -> held
journal -> offer_created,hold_placed,hold_placed,hold_placed,hold_expired,hold_expired,hold_placed
tidy                               -> tidied expired=1
unit GA                            -> available remaining=2 held=2
