# A hold that is being paid is pinned; when the money has come in it is a booking.
offer hall seats A:2 ttl=600s
hold h1 alice A-1                  -> held
pay h1                             -> begun holder=alice lines=A-1 amount=1000 payment=requires_payment due=+30s
show hold h1                       -> paying ttl=600s
unit A-1                           -> held
said h1 processing                 -> pending payment=processing due=+30s
said h1 processing                 -> unchanged
said h1 action                     -> unchanged payment=processing
said h1 succeeded                  -> confirmed payment=succeeded kept=1000 due=none
said h1 succeeded                  -> unchanged
said h1 declined                   -> unchanged
show hold h1                       -> booked
unit A-1                           -> booked
restart
show booking h1                    -> confirmed payment=succeeded kept=1000
journal -> offer_created,hold_placed,payment_begun,payment_intent_noted,payment_moved,payment_captured,booking_confirmed
