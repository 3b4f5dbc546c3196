# Nobody knows: the booking stays pending and says when somebody asks again, also before its hold is let go.
offer hall seats A:1 ttl=600s
hold h1 alice A-1
pay h1 pin=60s
defer h1 20s                       -> pending payment=requires_payment due=+20s attempts=1
tick 20s
defer h1 20s                       -> pending due=+20s attempts=2
defer h1 5000s                     -> pending due=+635s attempts=3   # five seconds before the pin ends
tick 635s
defer h1 60s                       -> pending due=+60s
said h1 succeeded                  -> confirmed
defer h1 60s                       -> unchanged
cancel h1
refund h1 succeeded
# The same when the hold is lost, and when its seat is gone.
hold h2 bob A-1
pay h2 pin=60s
tick 660s
defer h2 60s                       -> pending due=+60s
hold h3 carol A-1                  -> held
defer h2 60s                       -> pending due=+60s attempts=2
release h3
said h2 succeeded                  -> confirmed kept=1000
