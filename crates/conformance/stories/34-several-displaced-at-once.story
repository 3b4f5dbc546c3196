# One hold may walk over several expired ones, and over parts of them: the rest of each is free too.
offer hall seats A:6
hold h1 alice A-1 A-2
hold h2 bob   A-3 A-4
hold h3 carol A-5
tick 599s
extend h3                          -> extended
tick 1s
hold h4 dave A-2 A-3 A-5           -> unit_taken conflicts=A-5:held     # the extended one lives
hold h4 dave A-2 A-3               -> held
hold h5 eve  A-1 A-4               -> held                 # left over from the two that ended
confirm h1                         -> hold_expired
confirm h2                         -> hold_expired
confirm h3                         -> confirmed
