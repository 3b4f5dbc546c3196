# Off the grid, outside the hours, on a closed day or on a service that there is not.
offer dr-lee slots Europe/Berlin mon-fri/09:00-17:00 consult:30+15@8000 closed=2026-12-25
hold h a consult@2026-11-16T09:10+01:00   -> invalid_time
hold h a consult@2026-11-16T08:45+01:00   -> invalid_time
hold h a consult@2026-11-16T16:45+01:00   -> invalid_time       # the service would pass closing time
hold h a consult@2026-11-16T16:30+01:00   -> held               # its buffer may
hold h a consult@2026-11-21T10:00+01:00   -> invalid_time       # a Saturday
hold h a consult@2026-12-25T10:00+01:00   -> invalid_time
hold h a surgery@2026-11-16T10:00+01:00   -> unknown_unit unit=surgery
amend dr-lee closed=2026-11-17            -> amended
hold h a consult@2026-11-17T10:00+01:00   -> invalid_time
hold h a consult@2026-12-25T10:00+01:00   -> held
hold h a 2026-11-18T09:00Z                -> invalid_request field=lines
