# Best available: side by side, near the front and the middle, leaving no single seat alone.
offer hall seats A:7 B:7
hold h1 alice best:2               -> held lines=A-3,A-4 relaxed=none
hold h2 bob   best:2               -> held
hold h3 carol best:3               -> held relaxed=none
hold h4 dave  best:8               -> sold_out conflicts=none
hold h4 dave  best:7               -> held relaxed=none
hold h5 eve   best:1               -> sold_out
release h1
hold h5 eve   best:2               -> held lines=A-3,A-4
counts                             -> counts available=0 held=14
