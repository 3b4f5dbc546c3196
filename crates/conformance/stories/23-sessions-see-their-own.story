# A browser session may touch what is its own. Another's hold is the same "unknown" as one that never was.
offer hall seats A:3
hold h1 alice A-1 by=alice         -> held
release h1 by=bob                  -> unknown_hold
extend h1 by=bob                   -> unknown_hold
confirm h1 by=bob                  -> unknown_hold
confirm h1 by=alice                -> confirmed
cancel h1 by=bob                   -> unknown_booking
release h1 by=bob                  -> unknown_hold        # not even that it was booked
cancel h1 by=alice                 -> cancelled
hold h2 bob A-2 by=bob             -> held
tick 600s
confirm h2 by=alice                -> unknown_hold        # nor that it has expired
confirm h2 by=bob                  -> hold_expired
hold h3 carol A-3 by=carol         -> held
confirm h3                         -> confirmed           # an API key may
