# A refund is tried again, then left to a person, and a person can have it tried again.
offer hall seats A:1 ttl=600s
hold h1 alice A-1
pay h1
said h1 succeeded                  -> confirmed
cancel h1                          -> cancelled payment=refunding kept=1000
refund h1 pending                  -> cancelled attempts=1
refund h1 abandoned                -> cancelled payment=manual kept=1000 due=none
refund h1 succeeded                -> unchanged
resolve h1 paid                    -> invalid_request field=how
resolve h1 retry                   -> cancelled payment=refunding due=+0s
refund h1 abandoned                -> cancelled payment=manual
resolve h1 refunded                -> cancelled payment=refunded kept=0
