# The whole promise in six lines: one seat, two people, one yes.
offer hall seats A:2
hold h1 alice A-1            -> held lines=A-1 amount=1000 currency=EUR ttl=600s
hold h2 bob   A-1            -> unit_taken conflicts=A-1:held
confirm h1                   -> confirmed holder=alice lines=A-1 amount=1000
hold h2 bob   A-1            -> unit_taken conflicts=A-1:booked
unit A-1                     -> booked
unit A-2                     -> available
counts                       -> counts capacity=2 available=1 held=0 booked=1 blocked=0
journal                      -> offer_created,hold_placed,booking_confirmed
