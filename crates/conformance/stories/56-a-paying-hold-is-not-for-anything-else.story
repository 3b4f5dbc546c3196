# What is being paid can be neither booked, extended nor given back; asking for it again gives the same hold.
offer hall seats A:2 ttl=600s
hold h1 alice A-1
pay h1
pay h1                             -> already_booked
confirm h1                         -> already_booked
extend h1                          -> already_booked
release h1                         -> already_booked
hold h2 alice A-1                  -> held again=yes
pay nobody                         -> unknown_hold
said nobody succeeded              -> unknown_booking
hold h3 bob A-2
pay h3 by=carol            -> unknown_hold
tick 720s
pay h1                             -> hold_expired
confirm h1                         -> hold_expired
release h1                         -> released state=expired
