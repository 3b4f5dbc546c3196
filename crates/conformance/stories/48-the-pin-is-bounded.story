# While it is being paid a hold outlives its expiry, and not a millisecond longer than it may.
offer hall seats A:2 ttl=600s
hold h1 alice A-1
pay h1 pin=60s
tick 600s
show hold h1                       -> paying
hold h2 bob A-1                    -> unit_taken conflicts=A-1:held
tick 59999ms
hold h2 bob A-1                    -> unit_taken
tick 1ms
show hold h1                       -> expired
hold h2 bob A-1                    -> held
show booking h1                    -> pending payment=requires_payment
