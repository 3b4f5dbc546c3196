# Whoever leaves is waited for a minute; whoever comes back has what is left of the whole time.
offer hall seats A:2 ttl=600s
hold h1 alice A-1                  -> held ttl=600s
tick 100s
leave h1                           -> left ttl=60s state=active
leave h1                           -> left ttl=60s            # twice is once
tick 59s
leave h1                           -> left ttl=1s             # and gains nothing
hold h2 bob A-1                    -> unit_taken
return h1                          -> returned ttl=441s
return h1                          -> returned ttl=441s
leave h1                           -> left ttl=60s
tick 60s
return h1                          -> hold_expired            # nobody came
leave h1                           -> hold_expired
hold h2 bob A-1                    -> held
leave h2 by=carol                  -> unknown_hold
release h2                         -> released
leave h2                           -> hold_released
journal -> offer_created,hold_placed,hold_left,hold_returned,hold_left,hold_expired,hold_placed,hold_released
