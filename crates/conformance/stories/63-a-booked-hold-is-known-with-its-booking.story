# What came to nothing is forgotten after a day; what was booked answers by its id for as long as its booking.
offer hall seats A:3 ttl=1h
hold h1 alice A-1
hold h2 bob   A-2
hold h3 carol A-3
confirm h1                         -> confirmed
confirm h2                         -> confirmed
cancel h2                          -> cancelled
release h3
tick 100h
tidy
confirm h1                         -> already_booked
release h3                         -> unknown_hold
restart
confirm h1                         -> already_booked
release h1                         -> already_booked
extend h1                          -> already_booked
show hold h1                       -> booked holder=alice
confirm h2                         -> already_booked      # cancelled, and still what the hold became
