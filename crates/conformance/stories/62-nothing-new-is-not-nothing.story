# One who may have nothing new has what is theirs: the hold on exactly this, as it is, and else the reason why not.
offer hall seats A:4 limit=3
hold h1 alice A-1 A-2              -> held ttl=600s
tick 100s
recall h2 alice A-2 A-1            -> held again=yes ttl=500s
recall h2 alice A-2 A-1 over=2     -> held again=yes ttl=500s
recall h3 alice A-1                -> unknown_hold
recall h3 alice A-3                -> unknown_hold        # free, and nobody looks
recall h3 alice A-3 over=2         -> limit_reached unconfirmed=2 asked=1
recall h3 bob   A-1 over=2         -> unit_taken conflicts=A-1:held
recall h3 bob   A-9 over=2         -> unknown_unit
recall h3 alice A-3 A-4 over=2     -> limit_reached limit=3 used=2 asked=2
recall h1 alice A-1 A-2 key=k      -> held again=yes
recall h1 alice A-1 A-2 key=k      -> replayed
recall h3 alice A-3 key=k over=2   -> idempotency_key_reused
unit A-3                           -> available
journal -> offer_created,hold_placed
tick 500s
recall h2 alice A-1 A-2            -> unknown_hold        # no longer live
