# Named and chosen seats in one hold never name one seat twice, and the choice is all or nothing too.
offer hall seats A:5
hold h1 alice A-3 best:2           -> held amount=3000
counts                             -> counts held=3 available=2
hold h2 bob best:1 best:1          -> held amount=2000
hold h3 carol best:1               -> sold_out
release h1
release h2
hold h4 dave best:3 best:3         -> sold_out
counts                             -> counts available=5 held=0
