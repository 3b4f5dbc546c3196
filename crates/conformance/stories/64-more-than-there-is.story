# More than there is at all is not enough of it, however large or dear that much would be.
offer fest stock GA:500@3000
offer hall seats floor=A:20,B:20@4500 box=C:2@9000
offer gala stock VIP:5@999999999999 opens=+1h
hold h alice fest/GA*400000000                  -> sold_out
hold h alice fest/GA*4294967295                 -> sold_out
hold h alice hall/best:5000                     -> sold_out
hold h alice hall/best:4294967295@box           -> sold_out
hold h alice hall/best:4096 hall/best:4096      -> sold_out
hold h alice gala/VIP*6                         -> not_on_sale         # which comes before it
hold h alice fest/GA*501 fest/GA*501            -> invalid_request field=lines
hold h alice hall/best:3@none fest/GA*501       -> invalid_request field=category
hold h alice fest/GA*500                        -> held
tick 1h
hold h alice gala/VIP*2                         -> invalid_request field=lines   # there is as much, and nobody could charge it
amend fest limit=600
hold h alice fest/GA*400000000                  -> limit_reached
