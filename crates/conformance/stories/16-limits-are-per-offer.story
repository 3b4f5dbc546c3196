offer hall seats A:9 limit=1
offer fest stock GA:9 limit=2
hold h1 alice hall/A-1 fest/GA*2   -> held
hold h2 alice fest/GA              -> limit_reached offer=fest used=2
hold h3 alice hall/A-2 fest/GA     -> limit_reached offer=hall used=1    # the first line's offer speaks first
