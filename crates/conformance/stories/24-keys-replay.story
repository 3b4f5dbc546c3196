# A key names one intention. Sent again it gets the first answer, byte for byte, whatever has become of it since.
offer hall seats A:3
hold h1 alice A-1 key=k1           -> held
hold h1 alice A-1 key=k1           -> replayed
tick 600s
hold h1 alice A-1 key=k1           -> replayed            # the first answer, though the hold is over
hold h2 bob A-1 key=k1             -> idempotency_key_reused
hold h2 bob A-1 key=k2             -> held
confirm h2 key=k3                  -> confirmed
confirm h2 key=k3                  -> replayed
confirm h2 key=k4                  -> already_booked
cancel h2 key=k5                   -> cancelled
hold h3 carol A-1                  -> held
cancel h2 key=k5                   -> replayed
confirm h2 key=k3                  -> replayed
unit A-1                           -> held
journal -> offer_created,hold_placed,hold_expired,hold_placed,booking_confirmed,booking_cancelled,hold_placed
