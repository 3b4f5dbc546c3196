# What is counted is taken again while there is enough of it, and within what one holder may have.
offer fest stock GA:3@1000 ttl=600s limit=2
hold h1 alice GA*2
pay h1 pin=60s
tick 660s
hold h2 bob GA*2                   -> held
said h1 succeeded amount=2000      -> failed payment=refunding
release h2
hold h3 carol GA*2
pay h3 pin=60s
tick 660s
hold h4 carol GA                   -> held
said h3 succeeded amount=2000      -> failed payment=refunding
release h4
hold h5 dave GA*2
pay h5 pin=60s
tick 660s
hold h6 eve GA                     -> held
hold h7 frank GA                   -> held
said h5 succeeded amount=2000      -> failed payment=refunding
