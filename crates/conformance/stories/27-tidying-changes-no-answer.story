# The sweep writes down what is already so. Before it and after it every answer is the same.
offer hall seats A:3 ttl=60s limit=1
hold h1 alice A-1
hold h2 bob   A-2
hold h3 carol A-3
tick 60s
confirm h1                         -> hold_expired
tidy 2                             -> tidied expired=2
confirm h1                         -> hold_expired
confirm h3                         -> hold_expired
tidy                               -> tidied expired=1
tidy                               -> tidied expired=0
release h1                         -> released state=expired
hold h4 alice A-2                  -> held
counts                             -> counts available=2 held=1
