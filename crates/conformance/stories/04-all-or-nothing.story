# A hold of several seats has all of them or none, and says which were in the way.
offer hall seats A:5
hold h1 alice A-3                  -> held
hold h2 bob   A-1 A-2 A-3          -> unit_taken conflicts=A-3:held
unit A-1                           -> available
unit A-2                           -> available
counts                             -> counts available=4 held=1
release h1                         -> released
hold h2 bob   A-1 A-2 A-3          -> held lines=A-1,A-2,A-3 amount=3000
hold h3 carol A-5 A-1 A-4 A-2      -> unit_taken conflicts=A-1:held,A-2:held
confirm h2                         -> confirmed lines=A-1,A-2,A-3
counts                             -> counts available=2 held=0 booked=3
