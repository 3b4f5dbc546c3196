-- One file holds the books. `batches` is the truth: the journal as it was committed, entry after entry, hash-chained.
-- `answers_new` and `api_keys` are written directly. Everything below the line follows the journal a little later and can
-- be rebuilt from it; `meta.projected_seq` says how far it has come. Columns ending in `_ms` are milliseconds since
-- 1970; the views in `views.sql` show the same moments in words.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per commit: entries first_seq … last_seq, encoded, and the chain's hash after the last of them.
CREATE TABLE batches (
    first_seq INTEGER PRIMARY KEY,
    last_seq  INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    payload   BLOB NOT NULL,
    hash      BLOB NOT NULL
) STRICT;

-- Answers to idempotency keys, a row per commit: written in the same transaction as their effects, and moved to
-- `answers` a little later, because finding the place of each key in an index would cost a commit dearly.
CREATE TABLE answers_new (
    id      INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
) STRICT;

CREATE TABLE answers (
    id          INTEGER PRIMARY KEY,
    -- Of scope and key, 64 bits: a small index instead of one as large as the texts.
    digest      INTEGER NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    status      INTEGER NOT NULL,
    body        BLOB NOT NULL,
    at_ms       INTEGER NOT NULL,
    -- How many journal entries there were after the effect.
    seq         INTEGER NOT NULL
) STRICT;
CREATE INDEX answers_by_digest ON answers (digest);

CREATE TABLE api_keys (
    prefix     TEXT PRIMARY KEY,
    hash       BLOB NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('admin', 'seller')),
    created_ms INTEGER NOT NULL,
    created_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch')),
    revoked_ms INTEGER,
    revoked_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', revoked_ms / 1000.0, 'unixepoch'))
) WITHOUT ROWID;

-- The state at one point of the journal, in chunks, so that a start need not fold it from the beginning.
-- The row here is written last, with the last chunk.
CREATE TABLE checkpoints (
    seq    INTEGER PRIMARY KEY,
    hash   BLOB NOT NULL,
    at_ms  INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    digest BLOB NOT NULL
) STRICT;
CREATE TABLE checkpoint_chunks (
    seq     INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (seq, n)
) STRICT;

-- ─────────────────────────────────────────────── follows the journal ───────────────────────────────────────────────
-- Nothing is decided by these rows, and `holdfast verify` compares every one of them with the journal. So they are typed
-- and no more: checks and moments in words, computed for each row that is written, were a third of the work of filling
-- them.

CREATE TABLE offers (
    seq              INTEGER PRIMARY KEY,
    id               TEXT NOT NULL UNIQUE,
    name             TEXT NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('seats', 'stock', 'slots')),
    currency         TEXT NOT NULL,
    hold_ttl_s       INTEGER NOT NULL,
    limit_per_holder INTEGER,
    created_ms       INTEGER NOT NULL,
    created_at       TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch')),
    opens_ms         INTEGER,
    opens_at         TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', opens_ms / 1000.0, 'unixepoch')),
    closes_ms        INTEGER,
    closes_at        TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', closes_ms / 1000.0, 'unixepoch'))
);

-- A hold past its expiry counts as expired at once; the row says so when the tidying sweep has come by.
CREATE TABLE holds (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    holder     TEXT NOT NULL,
    -- active, paying, booked, released or expired
    state      TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    extensions INTEGER NOT NULL DEFAULT 0,
    placed_ms  INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    -- How many payments were begun on it; while one is under way, of which booking, and how long the hold is kept for it.
    payments   INTEGER NOT NULL DEFAULT 0,
    paying     TEXT,
    pinned_ms  INTEGER,
    -- Its holder has left, and so it expires sooner: when it will again if they come back in time.
    returns_ms INTEGER
) STRICT;

CREATE TABLE hold_lines (
    -- `holds.seq`
    hold_seq INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    offer    TEXT NOT NULL,
    unit     TEXT NOT NULL,
    qty      INTEGER NOT NULL,
    price    INTEGER NOT NULL,
    service  TEXT,
    PRIMARY KEY (hold_seq, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE bookings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    hold          TEXT NOT NULL,
    hold_seq      INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    -- pending, confirmed, cancelled or failed
    state         TEXT NOT NULL,
    amount        INTEGER NOT NULL,
    currency      TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    cancelled_seq INTEGER,
    cancelled_ms  INTEGER,
    failed_ms     INTEGER
) STRICT;
CREATE INDEX bookings_by_holder ON bookings (holder, seq);
CREATE TABLE booking_offers (
    offer TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (offer, seq)
) STRICT, WITHOUT ROWID;

-- The money side of the bookings that are paid for through a provider.
CREATE TABLE payments (
    -- `bookings.seq`
    booking_seq INTEGER PRIMARY KEY,
    booking     TEXT NOT NULL UNIQUE,
    provider    TEXT NOT NULL,
    -- requires_payment, processing, authorized, succeeded, refunding, refunded, failed or manual
    state       TEXT NOT NULL,
    method      TEXT,
    intent      TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    -- When somebody must next look at it.
    due_ms      INTEGER,
    captured    INTEGER NOT NULL DEFAULT 0,
    refunded    INTEGER NOT NULL DEFAULT 0,
    why         TEXT
) STRICT;
CREATE INDEX payments_by_state ON payments (state, booking_seq);
-- The journal entries of a booking beyond its making and its cancelling.
CREATE TABLE payment_entries (
    booking TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (booking, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    seq      INTEGER PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    kind     TEXT NOT NULL,
    offer    TEXT,
    -- Keys of all units concerned, with a space between them.
    units    TEXT NOT NULL,
    hold     TEXT,
    hold_seq INTEGER,
    booking  TEXT,
    before   TEXT,
    after    TEXT,
    hash     BLOB NOT NULL
);
CREATE INDEX journal_by_hold ON journal (hold_seq, seq) WHERE hold_seq IS NOT NULL;
CREATE TABLE journal_offers (
    offer TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (offer, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE journal_units (
    unit  TEXT NOT NULL,
    offer TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (unit, offer, seq)
) STRICT, WITHOUT ROWID;
