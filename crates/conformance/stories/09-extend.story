# A hold may be extended three times, each time to the full time to live from now.
offer hall seats A:2 ttl=60s
hold h1 alice A-1                  -> held ttl=60s
tick 50s
extend h1                          -> extended ttl=60s extensions=1
tick 59s
hold h2 bob A-1                    -> unit_taken
extend h1                          -> extended ttl=60s extensions=2
extend h1                          -> extended ttl=60s extensions=3
extend h1                          -> limit_reached extensions=3
tick 60s
extend h1                          -> hold_expired        # what it has become comes before how often it was asked
hold h2 bob A-1                    -> held
confirm h2
extend h2                          -> already_booked
extend nobody                      -> unknown_hold
