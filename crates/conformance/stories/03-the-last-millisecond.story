# One millisecond before its end a hold can be confirmed; at its end it cannot.
offer hall seats A:2 ttl=1s
hold h1 alice A-1
hold h2 bob   A-2
tick 999ms
confirm h1                   -> confirmed
tick 1ms
confirm h2                   -> hold_expired
