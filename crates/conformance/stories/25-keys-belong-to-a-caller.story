# The same key from another caller is another key.
offer hall seats A:3
hold h1 alice A-1 key=shop1:k      -> held
hold h2 alice A-1 key=shop2:k      -> held again=yes
hold h3 bob   A-2 key=shop3:k      -> held
hold h4 bob   A-2 key=shop1:k      -> idempotency_key_reused
