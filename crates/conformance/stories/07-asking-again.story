# Asking again for exactly what one holds already is not a conflict with oneself: the hold comes back as it is.
offer hall seats A:4
hold h1 alice A-1 A-2              -> held ttl=600s
tick 100s
hold h2 alice A-1 A-2              -> held again=yes ttl=500s
hold h3 alice A-2 A-1              -> held again=yes      # the order of the lines does not matter
hold h4 alice A-1                  -> unit_taken conflicts=A-1:held
hold h5 alice A-1 A-2 A-3          -> unit_taken conflicts=A-1:held,A-2:held
hold h6 bob   A-1 A-2              -> unit_taken
release h2                         -> released            # it is the same hold
show hold h1                       -> released
hold h7 alice A-1 A-2              -> held again=none ttl=600s
tick 600s
hold h8 alice A-1 A-2              -> held again=none ttl=600s
confirm h7                         -> hold_expired
