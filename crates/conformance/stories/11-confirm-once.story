# A hold becomes one booking. A second confirm is told so; it does not make a second one.
offer hall seats A:2
hold h1 alice A-1
confirm h1                         -> confirmed
confirm h1                         -> already_booked
counts                             -> counts booked=1
confirm nobody                     -> unknown_hold
show booking h1                    -> confirmed holder=alice lines=A-1 amount=1000
journal                            -> offer_created,hold_placed,booking_confirmed
