# Cancelling frees the units at once; a second cancel changes nothing, not even for the next buyer.
offer hall seats A:2
hold h1 alice A-1
confirm h1
cancel h1                          -> cancelled holder=alice
unit A-1                           -> available
hold h2 bob A-1                    -> held
cancel h1                          -> cancelled
unit A-1                           -> held
confirm h2                         -> confirmed
cancel h1                          -> cancelled
unit A-1                           -> booked
show booking h1                    -> cancelled
confirm h1                         -> already_booked      # the hold was used up by the booking it became
cancel nobody                      -> unknown_booking
counts                             -> counts available=1 held=0 booked=1
