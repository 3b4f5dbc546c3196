# The hold is lost and nobody has taken its seat: whoever paid has it all the same.
offer hall seats A:2 ttl=600s
hold h1 alice A-1
pay h1 pin=60s
tick 660s
said h1 succeeded                  -> confirmed payment=succeeded kept=1000
show hold h1                       -> expired
hold h2 bob A-1                    -> unit_taken conflicts=A-1:booked
hold h3 carol A-2
pay h3 pin=60s
tick 660s
tidy                               -> tidied expired=1
said h3 succeeded                  -> confirmed kept=1000
counts                             -> counts available=0 held=0 booked=2
cancel h3                          -> cancelled payment=refunding kept=1000
unit A-2                           -> available
restart
show booking h3                    -> cancelled payment=refunding
