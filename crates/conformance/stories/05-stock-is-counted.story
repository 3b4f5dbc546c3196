# Stock sells down to nothing and not one further.
offer fest stock GA:5@3000 VIP:1@9000
hold h1 alice GA*2                 -> held lines=GA*2 amount=6000
hold h2 bob   GA*2                 -> held
hold h3 carol GA*2                 -> sold_out conflicts=GA:available
unit GA                            -> available remaining=1 held=4
hold h3 carol GA                   -> held lines=GA amount=3000
hold h4 dave  GA                   -> sold_out conflicts=GA:held
release h1                         -> released
unit GA                            -> available remaining=2
hold h4 dave  GA*2 VIP             -> held lines=GA*2,VIP amount=15000
confirm h4                         -> confirmed amount=15000
hold h5 eve   VIP                  -> sold_out conflicts=VIP:booked
counts                             -> counts capacity=6 available=0 held=3 booked=3
