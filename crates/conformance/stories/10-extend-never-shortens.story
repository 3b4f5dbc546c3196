# A time to live cut short by the organiser takes nothing from those who hold already.
offer hall seats A:2 ttl=600s
hold h1 alice A-1                  -> held ttl=600s
amend hall ttl=10s                 -> amended
extend h1                          -> extended ttl=600s
hold h2 bob A-2                    -> held ttl=10s
tick 10s
confirm h2                         -> hold_expired
confirm h1                         -> confirmed
