offer opera seats stalls=A:3@4500 box=B:2@9000
hold h1 alice best:2@box           -> held lines=B-1,B-2 amount=18000
hold h2 bob   best:1@box           -> sold_out
hold h3 carol best:3@stalls        -> held amount=13500
hold h4 dave  best:1               -> sold_out
hold h5 eve   best:1@pit           -> invalid_request field=category
tick 600s                          # what has expired is there to be chosen, swept or not
hold h2 bob   best:2@box           -> held lines=B-1,B-2
confirm h1                         -> hold_expired
