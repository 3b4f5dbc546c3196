# The night of 31 October 2027 has two half past twos in Berlin; 28 March 2027 has none.
offer night slots Europe/Berlin sun/00:00-06:00 watch:30
hold h1 alice watch@2027-10-31T02:30+02:00   -> held lines=2027-10-31T00:30Z
hold h2 bob   watch@2027-10-31T02:30+01:00   -> held lines=2027-10-31T01:30Z   # an hour later, another half past two
hold h3 carol watch@2027-10-31T00:30Z        -> unit_taken
hold h4 dave  watch@2027-03-28T01:30+01:00   -> held lines=2027-03-28T00:30Z
hold h5 eve   watch@2027-03-28T03:00+02:00   -> held lines=2027-03-28T01:00Z   # the very next half hour
