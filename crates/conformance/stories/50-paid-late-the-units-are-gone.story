# The hold is lost and somebody else has its seat: the booking fails and the money goes back by itself.
offer hall seats A:2 ttl=600s
hold h1 alice A-1 A-2
pay h1 pin=60s
tick 660s
hold h2 bob A-2                    -> held
said h1 succeeded amount=2000      -> failed payment=refunding kept=2000 due=+0s
unit A-1                           -> available
unit A-2                           -> held
refund h1 pending                  -> failed payment=refunding due=+30s attempts=1
refund h1 succeeded                -> failed payment=refunded kept=0 due=none
refund h1 succeeded                -> unchanged
cancel h1                          -> not_cancellable
journal -> offer_created,hold_placed,payment_begun,hold_expired,hold_placed,payment_intent_noted,payment_captured,booking_failed,refund_begun,payment_deferred,payment_refunded
