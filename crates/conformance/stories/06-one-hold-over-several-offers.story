# Seats and stock in one hold: one yes for all of it, the shortest of the times to live, and one no.
offer hall seats A:2 ttl=600s
offer fest stock GA:3@3000 ttl=60s
hold h1 alice hall/A-1 fest/GA*2   -> held lines=hall/A-1,fest/GA*2 amount=7000 ttl=60s
hold h2 bob   fest/GA hall/A-1     -> unit_taken conflicts=hall/A-1:held
unit fest/GA                       -> available remaining=1
hold h2 bob   hall/A-2 fest/GA*2   -> sold_out offer=fest conflicts=fest/GA:available
unit hall/A-2                      -> available
tick 60s
hold h2 bob   hall/A-1 fest/GA*3   -> held ttl=60s
confirm h2                         -> confirmed lines=hall/A-1,fest/GA*3 amount=10000
confirm h1                         -> hold_expired
