# A holder's limit counts what is held and what is booked, per offer, and frees up as either ends.
offer hall seats A:9 limit=3 ttl=60s
hold h1 alice A-1 A-2              -> held
confirm h1                         -> confirmed
hold h2 alice A-3                  -> held
hold h3 alice A-4                  -> limit_reached offer=hall limit=3 used=3 asked=1
hold h4 bob   A-4 A-5 A-6 A-7      -> limit_reached limit=3 used=0 asked=4
tick 60s                           # an expired hold no longer counts, swept or not
hold h3 alice A-4                  -> held
hold h5 alice A-5                  -> limit_reached used=3
cancel h1                          -> cancelled
hold h5 alice A-5 A-6              -> held
release h5
hold h6 alice A-7 A-8 A-9          -> limit_reached used=1 asked=3
