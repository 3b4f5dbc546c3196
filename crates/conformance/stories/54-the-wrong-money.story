# Another amount, another currency, another payment: never decided by a machine.
offer hall seats A:4 ttl=600s
hold h1 alice A-1
pay h1
said h1 succeeded amount=999       -> pending payment=manual kept=999
resolve h1 retry                   -> failed payment=refunding kept=999
show hold h1                       -> active
hold h2 bob A-2
pay h2
said h2 succeeded currency=USD     -> pending payment=manual kept=0
resolve h2 refunded                -> failed payment=failed kept=0
hold h3 carol A-3
pay h3
said h3 succeeded                  -> confirmed
said h3 succeeded intent=pi_other  -> confirmed payment=manual kept=1000
resolve h3 paid                    -> confirmed payment=succeeded kept=1000
hold h4 dave A-4
pay h4
said h4 doubtful                   -> pending payment=manual kept=0
resolve h4 paid                    -> confirmed payment=succeeded kept=1000
