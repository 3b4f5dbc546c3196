# Giving back is repeatable, frees at once, and does not undo a booking.
offer hall seats A:2
hold h1 alice A-1
release h1                         -> released state=released
hold h2 bob A-1                    -> held
release h1                         -> released state=released     # again: nothing more happens to the seat
unit A-1                           -> held
confirm h1                         -> hold_released
extend h1                          -> hold_released
confirm h2                         -> confirmed
release h2                         -> already_booked
unit A-1                           -> booked
hold h3 carol A-2 
tick 600s
release h3                         -> released state=expired      # gone already, which is what was asked for
release nobody                     -> unknown_hold
journal -> offer_created,hold_placed,hold_released,hold_placed,booking_confirmed,hold_placed
