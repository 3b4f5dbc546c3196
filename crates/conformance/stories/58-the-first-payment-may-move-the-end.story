# Who begins to pay in the last second is given time to finish, once.
offer hall seats A:1 ttl=600s
hold h1 alice A-1
tick 599s
pay h1 grace=60s pin=60s
show hold h1                       -> paying ttl=60s
said h1 declined
show hold h1                       -> active ttl=60s
tick 30s
pay h1 grace=60s pin=60s
show hold h1                       -> paying ttl=30s
said h1 canceled                   -> failed payment=failed
show hold h1                       -> active ttl=30s
