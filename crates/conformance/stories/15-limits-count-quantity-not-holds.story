offer fest stock GA:100 VIP:100 limit=4
hold h1 alice GA*2 VIP*2           -> held
hold h2 alice GA                   -> limit_reached used=4 asked=1
hold h3 bob GA*3 VIP*2             -> limit_reached used=0 asked=5
hold h3 bob GA*3 VIP               -> held
hold h4 alice GA*2 VIP*2           -> held again=yes      # what one has already is no more of it
amend fest limit=5                 -> amended
hold h5 alice GA                   -> held
amend fest limit=none              -> amended
hold h6 alice GA*50                -> held
