# Blocking stops the sale of what is left; it takes nothing from anybody.
offer hall seats A:4
block A-1 A-2                      -> blocked
counts                             -> counts available=2 blocked=2
hold h1 alice A-1                  -> unit_blocked conflicts=A-1:blocked
hold h2 bob A-3                    -> held
block A-3                          -> unit_taken conflicts=A-3:held
block A-4 A-3                      -> unit_taken conflicts=A-3:held
unit A-4                           -> available           # all or nothing here too
tick 600s
block A-3                          -> blocked             # an expired hold does not stand in the way
confirm h2                         -> hold_expired
unblock A-1 A-3                    -> unblocked
block A-1 A-2                      -> blocked
block A-1 A-2                      -> blocked             # so already: nothing happens
unblock A-4                        -> unblocked
hold h3 carol A-3                  -> held
unblock A-9                        -> unknown_unit unit=A-9
block hell/A-1                     -> unknown_offer offer=hell
journal -> offer_created,units_blocked,hold_placed,hold_expired,units_blocked,units_unblocked,units_blocked,hold_placed
