# What cannot be had whole is had as nearly as possible, and the answer says what was given up.
offer hall seats A:3 B:3
hold h1 alice best:2               -> held relaxed=orphan           # a pair out of three leaves one alone, here or there
hold h2 bob   best:4               -> held relaxed=split_rows       # all that is left, in neighbouring rows
hold h3 carol best:1               -> sold_out
offer barn seats A:4 B:4
hold h4 dave  barn/A-2 barn/A-3    -> held
hold h5 eve   barn/best:4          -> held lines=barn/B-1,barn/B-2,barn/B-3,barn/B-4 relaxed=none
hold h6 fay   barn/best:2          -> held lines=barn/A-1,barn/A-4 relaxed=scattered
