offer hall seats A:3
offer fest stock GA:3 opens=+1h
hold h1 alice hall/A-1 fest/GA     -> not_on_sale offer=fest
unit hall/A-1                      -> available
