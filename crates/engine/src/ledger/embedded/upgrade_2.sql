-- From format 1, which knew no payments: the tables for people learn of holds that are being paid and of bookings that
-- wait for their money. SQLite cannot widen a CHECK, so those two tables are made anew and filled from the old ones.

ALTER TABLE holds RENAME TO holds_1;
CREATE TABLE holds (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    holder     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'paying', 'booked', 'released', 'expired')),
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    extensions INTEGER NOT NULL DEFAULT 0,
    placed_ms  INTEGER NOT NULL,
    placed_at  TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', placed_ms / 1000.0, 'unixepoch')),
    expires_ms INTEGER NOT NULL,
    expires_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', expires_ms / 1000.0, 'unixepoch')),
    ended_ms   INTEGER,
    ended_at   TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch')),
    -- How many payments were begun on it; while one is under way, of which booking, and how long the hold is kept for it.
    payments   INTEGER NOT NULL DEFAULT 0,
    paying     TEXT CHECK ((paying IS NULL) = (state <> 'paying')),
    pinned_ms  INTEGER CHECK ((pinned_ms IS NULL) = (state <> 'paying')),
    pinned_at  TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', pinned_ms / 1000.0, 'unixepoch'))
);
INSERT INTO holds (seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms)
    SELECT seq, id, holder, state, amount, currency, extensions, placed_ms, expires_ms, ended_ms FROM holds_1;
DROP TABLE holds_1;

DROP INDEX bookings_by_holder;
ALTER TABLE bookings RENAME TO bookings_1;
CREATE TABLE bookings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    hold          TEXT NOT NULL,
    hold_seq      INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('pending', 'confirmed', 'cancelled', 'failed')),
    amount        INTEGER NOT NULL,
    currency      TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    created_at    TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch')),
    cancelled_seq INTEGER,
    cancelled_ms  INTEGER,
    cancelled_at  TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', cancelled_ms / 1000.0, 'unixepoch')),
    failed_ms     INTEGER,
    failed_at     TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', failed_ms / 1000.0, 'unixepoch'))
);
CREATE INDEX bookings_by_holder ON bookings (holder, seq);
INSERT INTO bookings (seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms)
    SELECT seq, id, hold, hold_seq, holder, state, amount, currency, created_ms, cancelled_seq, cancelled_ms FROM bookings_1;
DROP TABLE bookings_1;

-- The money side of the bookings that are paid for through a provider.
CREATE TABLE payments (
    -- `bookings.seq`
    booking_seq INTEGER PRIMARY KEY,
    booking     TEXT NOT NULL UNIQUE,
    provider    TEXT NOT NULL CHECK (provider IN ('stripe')),
    state       TEXT NOT NULL CHECK (state IN ('requires_payment', 'processing', 'authorized', 'succeeded', 'refunding',
                                               'refunded', 'failed', 'manual')),
    method      TEXT,
    intent      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    -- When somebody must next look at it.
    due_ms      INTEGER,
    due_at      TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', due_ms / 1000.0, 'unixepoch')),
    captured    INTEGER NOT NULL DEFAULT 0,
    refunded    INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND captured),
    why         TEXT,
    CHECK ((due_ms IS NULL) = (state NOT IN ('requires_payment', 'processing', 'authorized', 'refunding')))
);
CREATE INDEX payments_by_state ON payments (state, booking_seq);
-- The journal entries of a booking beyond its making and its cancelling.
CREATE TABLE payment_entries (
    booking TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (booking, seq)
) STRICT, WITHOUT ROWID;
