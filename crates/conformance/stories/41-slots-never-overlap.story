# An appointment takes every cell of its service and its buffers, so different services can never overlap.
offer dr-lee slots Europe/Berlin mon-fri/09:00-17:00 consult:30+15@8000 quick:15@3000
hold h1 alice consult@2026-11-16T09:00+01:00    -> held lines=2026-11-16T08:00Z amount=8000
hold h2 bob   quick@2026-11-16T09:15+01:00      -> unit_taken conflicts=2026-11-16T08:15Z:held
hold h2 bob   quick@2026-11-16T09:30+01:00      -> unit_taken conflicts=2026-11-16T08:30Z:held   # the buffer
hold h2 bob   quick@2026-11-16T09:45+01:00      -> held lines=2026-11-16T08:45Z amount=3000
hold h3 carol consult@2026-11-16T08:00Z         -> unit_taken       # the same instant, by another clock
confirm h1                                      -> confirmed lines=2026-11-16T08:00Z
unit 2026-11-16T08:30Z                          -> booked
unit 2026-11-16T08:45Z                          -> held
unit 2026-11-16T09:00Z                          -> available
cancel h1                                       -> cancelled
hold h3 carol quick@2026-11-16T09:30+01:00      -> held
