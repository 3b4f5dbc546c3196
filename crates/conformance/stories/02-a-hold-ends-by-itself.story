# Expiry is a fact about the time, not the work of a sweeper: no tidying happens in this story.
offer hall seats A:2
hold h1 alice A-1            -> held ttl=600s
tick 599s
hold h2 bob   A-1            -> unit_taken conflicts=A-1:held
show hold h1                 -> active ttl=1s
tick 1s                      # the last millisecond is over: at its expiry a hold is no longer one
show hold h1                 -> expired
confirm h1                   -> hold_expired
extend h1                    -> hold_expired
hold h2 bob   A-1            -> held
confirm h1                   -> hold_expired
confirm h2                   -> confirmed holder=bob
# The winner's decision wrote down the expiry it made use of.
journal                      -> offer_created,hold_placed,hold_expired,hold_placed,booking_confirmed
