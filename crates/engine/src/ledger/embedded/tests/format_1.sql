-- Makes books of format 1 out of books of format 3 in which nothing was ever paid: the two tables that had a narrower
-- CHECK then, as they were made then.

ALTER TABLE holds RENAME TO holds_2;
CREATE TABLE holds (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    holder     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'booked', 'released', 'expired')),
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    extensions INTEGER NOT NULL DEFAULT 0,
    placed_ms  INTEGER NOT NULL,
    placed_at  TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', placed_ms / 1000.0, 'unixepoch')),
    expires_ms INTEGER NOT NULL,
    expires_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', expires_ms / 1000.0, 'unixepoch')),
    ended_ms   INTEGER,
    ended_at   TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch'))
);
INSERT INTO holds (seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms)
    SELECT seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms FROM holds_2;
DROP TABLE holds_2;

DROP INDEX bookings_by_holder;
ALTER TABLE bookings RENAME TO bookings_2;
CREATE TABLE bookings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    hold          TEXT NOT NULL,
    hold_seq      INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('confirmed', 'cancelled')),
    amount        INTEGER NOT NULL,
    currency      TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    created_at    TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch')),
    cancelled_seq INTEGER,
    cancelled_ms  INTEGER,
    cancelled_at  TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', cancelled_ms / 1000.0, 'unixepoch'))
);
CREATE INDEX bookings_by_holder ON bookings (holder, seq);
INSERT INTO bookings (seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms)
    SELECT seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms
    FROM bookings_2;
DROP TABLE bookings_2;

DROP TABLE payments;
DROP TABLE payment_entries;
PRAGMA user_version = 1;
