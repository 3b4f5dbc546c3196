# A refusal says what was in the way and what could be had instead.
offer hall seats A:6
hold h1 alice A-3
hold h2 bob A-3                    -> unit_taken conflicts=A-3:held alternatives=A-2,A-4,A-1
hold h3 carol A-3 A-4              -> unit_taken conflicts=A-3:held alternatives=A-4+A-5,A-1+A-2
block A-2 A-5
hold h4 dave A-2                   -> unit_blocked conflicts=A-2:blocked alternatives=A-1,A-4,A-6
# Fewer are free than are wanted: what there is.
hold h5 erin A-1 A-2 A-3 A-6       -> unit_blocked conflicts=A-2:blocked alternatives=A-1+A-4+A-6
