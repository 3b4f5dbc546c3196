# An ended hold answers by its id for a day after its end, tidied early, late or never.
offer hall seats A:4 ttl=1h
hold h1 alice A-1
hold h2 bob   A-2
hold h3 carol A-3
hold h4 dave  A-4
release h4
tick 1h
tidy 1                             -> tidied expired=1
tick 23h
release h4                         -> unknown_hold        # released 24 hours ago
confirm h1                         -> hold_expired
confirm h2                         -> hold_expired
tick 59m
tidy 1                             -> tidied expired=1    # very late
tick 1m
confirm h1                         -> unknown_hold
confirm h2                         -> unknown_hold
confirm h3                         -> unknown_hold
show hold h3                       -> nothing
hold h5 eve A-1 A-2 A-3            -> held
