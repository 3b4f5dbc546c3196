offer hall seats A:2
hold h1 alice A-1
offer hall stock GA:5              -> offer_exists offer=hall
unit hall/A-1                      -> held
offer hall seats A:2               -> offer_exists
offer bare seats                   -> invalid_request field=seats.sections
offer twin seats A:1 A:1           -> invalid_request field=seats.sections[0].rows[1].name
offer twin stock GA:1 GA:1         -> invalid_request field=stock.lines[1].key
