offer dr-lee slots Europe/Berlin mon-fri/09:00-17:00 consult:30
block 2026-11-16T08:15Z                      -> blocked
hold h1 alice consult@2026-11-16T09:00+01:00 -> unit_blocked conflicts=2026-11-16T08:15Z:blocked
unblock 2026-11-16T08:15Z                    -> unblocked
hold h1 alice consult@2026-11-16T09:00+01:00 -> held
block 2026-11-16T08:15Z                      -> unit_taken conflicts=2026-11-16T08:15Z:held
block 2026-11-16T08:07Z                      -> unknown_unit
