# Whoever cancels while the payment is under way has the seat free at once; money that comes in later goes back.
offer hall seats A:2 ttl=600s
hold h1 alice A-1
hold h2 bob A-2
pay h1
pay h2
cancel h1                          -> cancelled payment=requires_payment due=+0s
cancel h1                          -> cancelled
show hold h1                       -> released
hold h3 carol A-1                  -> held
said h1 succeeded                  -> cancelled payment=refunding kept=1000
refund h1 succeeded                -> cancelled payment=refunded kept=0
cancel h2                          -> cancelled
said h2 canceled                   -> cancelled payment=failed kept=0 due=none
said h2 succeeded                  -> cancelled payment=refunding kept=1000
