# A blocked stock line sells no more; what is held of it can be bought or given back.
offer fest stock GA:10
hold h1 alice GA*4
hold h2 bob GA*3
confirm h2
block GA                           -> blocked
counts                             -> counts available=0 held=4 booked=3 blocked=3
hold h3 carol GA                   -> unit_blocked conflicts=GA:blocked
release h1                         -> released
counts                             -> counts available=0 held=0 booked=3 blocked=7
cancel h2                          -> cancelled
counts                             -> counts available=0 booked=0 blocked=10
unblock GA
counts                             -> counts available=10
