offer hall seats A:2 currency=EUR
offer tour seats A:2 currency=JPY
hold h1 alice hall/A-1 tour/A-1    -> invalid_request field=lines
hold h1 alice tour/A-1 tour/A-2    -> held amount=2000 currency=JPY
