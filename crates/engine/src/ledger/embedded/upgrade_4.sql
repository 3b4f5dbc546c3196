-- From format 3, whose tables for people computed checks and moments in words for every row that was written.

ALTER TABLE holds RENAME TO holds_3;
CREATE TABLE holds (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    holder     TEXT NOT NULL,
    state      TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    extensions INTEGER NOT NULL DEFAULT 0,
    placed_ms  INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    payments   INTEGER NOT NULL DEFAULT 0,
    paying     TEXT,
    pinned_ms  INTEGER,
    returns_ms INTEGER
) STRICT;
INSERT INTO holds (seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms, payments, paying, pinned_ms,
        returns_ms)
    SELECT seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms, payments, paying, pinned_ms,
        returns_ms FROM holds_3;
DROP TABLE holds_3;

DROP INDEX bookings_by_holder;
ALTER TABLE bookings RENAME TO bookings_3;
CREATE TABLE bookings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    hold          TEXT NOT NULL,
    hold_seq      INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    state         TEXT NOT NULL,
    amount        INTEGER NOT NULL,
    currency      TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    cancelled_seq INTEGER,
    cancelled_ms  INTEGER,
    failed_ms     INTEGER
) STRICT;
INSERT INTO bookings (seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms, failed_ms)
    SELECT seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms, failed_ms FROM bookings_3;
DROP TABLE bookings_3;
CREATE INDEX bookings_by_holder ON bookings (holder, seq);

DROP INDEX payments_by_state;
ALTER TABLE payments RENAME TO payments_3;
CREATE TABLE payments (
    booking_seq INTEGER PRIMARY KEY,
    booking     TEXT NOT NULL UNIQUE,
    provider    TEXT NOT NULL,
    state       TEXT NOT NULL,
    method      TEXT,
    intent      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    due_ms      INTEGER,
    captured    INTEGER NOT NULL DEFAULT 0,
    refunded    INTEGER NOT NULL DEFAULT 0,
    why         TEXT
) STRICT;
INSERT INTO payments (booking_seq, booking, provider, state, method, intent, attempts, due_ms, captured, refunded, why)
    SELECT booking_seq, booking, provider, state, method, intent, attempts, due_ms, captured, refunded, why FROM payments_3;
DROP TABLE payments_3;
CREATE INDEX payments_by_state ON payments (state, booking_seq);

-- By far the longest of them is kept as it is: a column that was never stored is dropped without rewriting a row.
ALTER TABLE journal DROP COLUMN at;
