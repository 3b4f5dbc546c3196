# A night out: a seat, a table and two drinks, one yes or one no for all of it.
offer hall  seats stalls=A:2@4500 ttl=600s
offer table slots Europe/Berlin mon-sun/18:00-23:00 dinner:90@6000 ttl=300s
offer bar   stock drink:3@900 ttl=900s
hold h1 alice hall/A-1 table/dinner@2026-11-16T19:00+01:00 bar/drink*2  -> held ttl=300s
hold h2 bob   hall/A-2 table/dinner@2026-11-16T20:00+01:00 bar/drink    -> unit_taken
unit hall/A-2                                                           -> available
unit bar/drink                                                          -> available remaining=1
hold h2 bob   hall/A-2 table/dinner@2026-11-16T20:30+01:00 bar/drink*2  -> sold_out offer=bar
hold h2 bob   hall/A-2 table/dinner@2026-11-16T20:30+01:00 bar/drink    -> held
confirm h1                                                              -> confirmed
cancel h1                                                               -> cancelled
unit bar/drink                                                          -> available remaining=2
