offer hall seats A:1 ttl=1s
hold h1 alice A-1
confirm h1
tick 400d
hold h2 bob A-1                    -> unit_taken conflicts=A-1:booked
show booking h1                    -> confirmed
cancel h1                          -> cancelled
hold h2 bob A-1                    -> held
