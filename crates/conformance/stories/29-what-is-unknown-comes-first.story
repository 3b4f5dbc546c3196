# Precedence, first half: what is not there, then what cannot be, whatever else is wrong.
offer hall seats A:3 opens=+1h
offer fest stock GA:3
offer dr-lee slots Europe/Berlin mon-fri/09:00-17:00 consult:30
hold h nobody hell/A-1 hall/A-1                 -> unknown_offer offer=hell
hold h nobody hall/Z-1 hell/A-1                 -> unknown_offer offer=hell       # before the unit named first
hold h nobody hall/Z-1                          -> unknown_unit unit=hall/Z-1     # before the closed sale
hold h nobody fest/GA*0 hall/Z-1                -> unknown_unit
hold h nobody fest/best:2 hall/Z-1              -> unknown_unit                   # before the pick that cannot be
hold h nobody hell/consult@never                -> unknown_offer offer=hell       # before a start that is no time
hold h nobody dr-lee/surgery@never              -> unknown_unit
hold h nobody dr-lee/consult@never hall/Z-1     -> unknown_unit
hold h nobody dr-lee/consult@never fest/GA*0    -> invalid_time                   # before what cannot be
hold h nobody fest/best:2                       -> invalid_request field=lines
hold h nobody fest/GA*0                         -> invalid_request field=qty
hold h nobody hall/A-1*2                        -> invalid_request field=qty      # before the closed sale
hold h nobody hall/A-1 hall/A-1                 -> invalid_request field=lines
hold h nobody fest/GA fest/GA                   -> invalid_request field=lines
hold h nobody hall/best:2@gold                  -> invalid_request field=category # before the closed sale
hold h nobody hall/best:0                       -> invalid_request field=qty
hold h nobody                                   -> invalid_request field=lines
hold h nobody hall/A-1                          -> not_on_sale
