# Extending, confirming and paying are signs of life: the hold has its own time again, and a paying one is not let go of.
offer hall seats A:4 ttl=600s
hold h1 alice A-1
leave h1                           -> left ttl=60s
extend h1                          -> extended ttl=600s extensions=1
return h1                          -> returned ttl=600s
hold h2 alice A-2
leave h2                           -> left ttl=60s
tick 30s
pay h2                             -> begun
show hold h2                       -> paying ttl=570s
leave h2                           -> left ttl=570s state=paying
said h2 declined                   -> failed
show hold h2                       -> active ttl=570s
hold h3 alice A-3
leave h3 keep=600s                 -> left ttl=600s           # no sooner than it would have ended
leave h3 keep=0s                   -> left ttl=0s state=expired
hold h4 bob A-3                    -> held
leave h4
confirm h4                         -> confirmed
leave h4                           -> left state=booked
