# A paid booking takes two steps and has one answer: the key is open between them, and the first words count.
offer hall seats A:2 ttl=600s
hold h1 alice A-1
pay h1 key=k                       -> begun
pay h1 key=k                       -> open
restart
pay h1 key=k                       -> open
hold h2 bob A-2 key=k              -> idempotency_key_reused
said h1 processing                 -> pending                 # somebody else's news says nothing to the key
pay h1 key=k                       -> open
defer h1 20s key=k                 -> pending
pay h1 key=k                       -> replayed
said h1 succeeded key=k            -> replayed                # the effect stands, the first words are heard
show booking h1                    -> confirmed kept=1000
restart
pay h1 key=k                       -> replayed
defer h1 20s key=other             -> unchanged               # a key that nobody opened is not closed
