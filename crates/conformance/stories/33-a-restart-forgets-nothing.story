# What was answered before the process ended is so after it began again; time went on meanwhile.
offer hall seats A:4 limit=3
hold h1 alice A-1 key=k1           -> held
hold h2 bob   A-2
confirm h2
hold h3 carol A-3
release h3
block A-4
restart
show hold h1                       -> active ttl=600s
show hold h3                       -> released
show booking h2                    -> confirmed
counts                             -> counts available=1 held=1 booked=1 blocked=1
hold h1 alice A-1 key=k1           -> replayed
hold h4 dave A-1                   -> unit_taken conflicts=A-1:held
hold h4 dave A-2                   -> unit_taken conflicts=A-2:booked
hold h4 dave A-4                   -> unit_blocked
confirm h2                         -> already_booked
confirm h1                         -> confirmed
restart
tick 600s
restart
unit A-1                           -> booked
cancel h1                          -> cancelled
restart
hold h5 eve A-1                    -> held
