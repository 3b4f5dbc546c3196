# After a decline the hold is there again with what is left of its time, for another try.
offer hall seats A:1 ttl=600s
hold h1 alice A-1
tick 100s
pay h1                             -> begun
said h1 declined                   -> failed payment=failed kept=0 due=none
show hold h1                       -> active ttl=500s
pay h1                             -> begun                     # another booking of the same hold
said h1 succeeded                  -> confirmed kept=1000
show hold h1                       -> booked
