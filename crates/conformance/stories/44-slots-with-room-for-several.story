# A class of three: each cell has a capacity, and overlap counts in every cell.
offer yoga slots Europe/Berlin mon-sun/08:00-20:00 class:60 taster:15 capacity=3 limit=2
hold h1 alice class@2026-11-16T09:00+01:00   -> held
hold h2 bob   class@2026-11-16T09:30+01:00   -> held
hold h3 carol class@2026-11-16T09:15+01:00   -> held
hold h4 dave  taster@2026-11-16T09:30+01:00  -> unit_taken conflicts=2026-11-16T08:30Z:held
hold h4 dave  taster@2026-11-16T09:15+01:00  -> held
hold h1 alice class@2026-11-16T12:00+01:00   -> held
hold h1 alice class@2026-11-16T14:00+01:00   -> limit_reached used=2 asked=1    # appointments, not cells
tick 600s
hold h5 eve class@2026-11-16T09:00+01:00     -> held
