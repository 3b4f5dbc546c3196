# Precedence, second half: each refusal below wins over all those that follow it.
offer shut seats A:2 opens=+1h limit=1
offer hall seats A:4 limit=3
offer fest stock GA:1
block hall/A-1
hold g1 gina hall/A-2                           -> held
hold g2 gina fest/GA                            -> held
hold h1 hank shut/A-1 shut/A-2                  -> not_on_sale          # before the limit
hold h1 hank hall/A-1 hall/A-2 hall/A-3 hall/A-4 fest/GA  -> limit_reached used=0 asked=4   # before blocked and taken
hold h1 hank hall/A-2 hall/A-1 fest/GA          -> unit_blocked conflicts=hall/A-1:blocked   # before taken
hold h1 hank fest/GA hall/A-2                   -> unit_taken conflicts=hall/A-2:held        # before sold out
hold h1 hank fest/GA hall/A-3                   -> sold_out offer=fest conflicts=fest/GA:held
hold h1 hank hall/A-3                           -> held
