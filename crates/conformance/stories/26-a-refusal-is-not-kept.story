# A refusal had no effect, so its key decides anew.
offer hall seats A:2
hold h1 alice A-1
hold h2 bob A-1 key=k              -> unit_taken
release h1
hold h2 bob A-1 key=k              -> held
hold h2 bob A-1 key=k              -> replayed
