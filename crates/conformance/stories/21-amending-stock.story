# Capacity may grow, and shrink as far as what is sold.
offer fest stock GA:5 VIP:2
hold h1 alice GA*3
confirm h1
amend fest GA:2                    -> unit_taken conflicts=GA:available
amend fest GA:3                    -> amended
hold h2 bob GA                     -> sold_out conflicts=GA:booked
amend fest GA:4                    -> amended
hold h2 bob GA                     -> held
amend fest GA:3                    -> unit_taken conflicts=GA:held
tick 600s
amend fest GA:3                    -> amended             # an expired hold does not stand in the way, swept or not
confirm h2                         -> hold_expired
amend fest XX:3                    -> invalid_request field=stock.lines
amend fest GA:0                    -> invalid_request field=stock.lines[0].capacity
amend fest ttl=0s                  -> invalid_request field=hold_ttl_s
amend fest limit=0                 -> invalid_request field=limit_per_holder
amend fest opens=+2h closes=+1h    -> invalid_request field=closes_at
amend fest closed=2026-12-25       -> invalid_request field=slots
amend none ttl=5s                  -> unknown_offer
counts                             -> counts capacity=5 available=2 held=0 booked=3
