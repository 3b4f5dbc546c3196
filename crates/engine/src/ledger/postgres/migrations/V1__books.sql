-- The books. PostgreSQL itself refuses a double sale, whatever the program above it does:
--   one_live_claim   two live claims on one unit of capacity 1 cannot both exist;
--   units_fit        no unit is ever held and booked beyond its capacity;
--   one_booking      a hold becomes a booking once;
--   answers          an idempotency key has one answer.
-- Where a table concerns an offer, its key begins with the offer, so that the tables can be spread by offer.

CREATE SCHEMA IF NOT EXISTS holdfast;

-- Milliseconds since 1970 and back, exact in both directions.
CREATE FUNCTION holdfast.at(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN timestamptz 'epoch' + ms * interval '1 millisecond';
CREATE FUNCTION holdfast.ms(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN floor(extract(epoch FROM at) * 1000)::bigint;

CREATE TABLE holdfast.offers (
    id          text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[a-z0-9-]{1,64}$'),
    -- The order in which offers were made.
    place       bigint GENERATED ALWAYS AS IDENTITY,
    name        text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('seats', 'slots', 'stock')),
    -- What is on sale, in the journal's encoding.
    definition  bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    -- The journal entry that last changed it: the one place where commits of one offer meet.
    version     bigint NOT NULL CHECK (version > 0),
    changed_at  timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Every seat and stock line; of a calendar, the cells that something happened to.
CREATE TABLE holdfast.units (
    offer_id    text COLLATE "C" NOT NULL REFERENCES holdfast.offers,
    unit_no     bigint NOT NULL CHECK (unit_no >= 0),
    capacity    bigint NOT NULL CHECK (capacity >= 0),
    held        bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    booked      bigint NOT NULL DEFAULT 0 CHECK (booked >= 0),
    blocked     boolean NOT NULL DEFAULT false,
    -- Grows with every change: who acts on an older one acts on the past, and is refused.
    fence       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (offer_id, unit_no),
    CONSTRAINT units_fit CHECK (held + booked <= capacity)
) WITH (fillfactor = 70);

-- Live claims only: a claim that ended is gone from here, and the journal remembers it.
CREATE TABLE holdfast.claims (
    offer_id    text COLLATE "C" NOT NULL,
    unit_no     bigint NOT NULL,
    hold_id     text COLLATE "C" NOT NULL,
    qty         bigint NOT NULL CHECK (qty > 0),
    -- The unit has a capacity of one.
    exclusive   boolean NOT NULL,
    booked      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (offer_id, unit_no, hold_id)
);
CREATE UNIQUE INDEX one_live_claim ON holdfast.claims (offer_id, unit_no) WHERE exclusive;

CREATE TABLE holdfast.holds (
    -- The offer of its first line.
    offer_id    text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    holder      text NOT NULL,
    state       text NOT NULL CHECK (state IN ('active', 'booked', 'released', 'expired')),
    amount      bigint NOT NULL CHECK (amount >= 0),
    currency    text NOT NULL,
    expires_at  timestamptz NOT NULL,
    extensions  smallint NOT NULL DEFAULT 0 CHECK (extensions BETWEEN 0 AND 3),
    ended_at    timestamptz CHECK ((ended_at IS NULL) = (state = 'active')),
    booking_id  text COLLATE "C" CHECK ((booking_id IS NULL) = (state <> 'booked')),
    version     bigint NOT NULL,
    -- Lines and what best-available gave up, in the journal's encoding.
    body        bytea NOT NULL,
    PRIMARY KEY (offer_id, id)
) WITH (fillfactor = 80);
CREATE INDEX holds_active ON holdfast.holds (expires_at) WHERE state = 'active';
CREATE INDEX holds_ended ON holdfast.holds (ended_at) WHERE state <> 'active';

CREATE TABLE holdfast.bookings (
    offer_id     text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    hold_id      text COLLATE "C" NOT NULL,
    holder       text NOT NULL,
    state        text NOT NULL CHECK (state IN ('confirmed', 'cancelled')),
    amount       bigint NOT NULL CHECK (amount >= 0),
    currency     text NOT NULL,
    created_at   timestamptz NOT NULL,
    cancelled_at timestamptz CHECK ((cancelled_at IS NULL) = (state = 'confirmed')),
    version      bigint NOT NULL,
    -- The order in which bookings were made.
    place        bigint GENERATED ALWAYS AS IDENTITY,
    -- Every offer it has a line in.
    offers       text[] COLLATE "C" NOT NULL,
    body         bytea NOT NULL,
    PRIMARY KEY (offer_id, id),
    CONSTRAINT one_booking UNIQUE (offer_id, hold_id)
);
CREATE UNIQUE INDEX bookings_in_order ON holdfast.bookings (place);

-- The words given to each idempotency key, with the effect they describe.
CREATE TABLE holdfast.answers (
    -- SHA-256 of the caller's scope and key.
    key          bytea PRIMARY KEY,
    fingerprint  bytea NOT NULL,
    status       smallint NOT NULL,
    body         bytea NOT NULL,
    at           timestamptz NOT NULL
);
CREATE INDEX answers_by_age ON holdfast.answers USING brin (at);

-- One row for every transition, written in its transaction. Each connection that writes keeps a chain of its own.
CREATE TABLE holdfast.journal (
    seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The transaction that wrote it: whoever follows the journal asks for what was not settled last time.
    xid          bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    chain        bigint NOT NULL,
    link         bigint NOT NULL CHECK (link > 0),
    at           timestamptz NOT NULL,
    actor        text NOT NULL,
    kind         text NOT NULL,
    offer_id     text COLLATE "C",
    -- Every offer it changed, and the version that each had before.
    offers       text[] COLLATE "C" NOT NULL,
    before       bigint[] NOT NULL,
    -- The version that all of them have after it.
    version      bigint NOT NULL,
    hold_id      text COLLATE "C",
    booking_id   text COLLATE "C",
    entry        bytea NOT NULL,
    -- SHA-256 of the chain so far and this entry.
    hash         bytea NOT NULL
);
CREATE INDEX journal_by_xid ON holdfast.journal (xid);
CREATE INDEX journal_by_offer ON holdfast.journal (offer_id, seq);

CREATE TABLE holdfast.api_keys (
    prefix      text COLLATE "C" PRIMARY KEY,
    hash        bytea NOT NULL,
    role        text NOT NULL CHECK (role IN ('admin', 'seller')),
    created_at  timestamptz NOT NULL,
    revoked_at  timestamptz
);

-- What the gate's keys must carry to be believed: raised whenever its memory may be wrong.
CREATE TABLE holdfast.gate_epoch (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch       bigint NOT NULL
);
INSERT INTO holdfast.gate_epoch (epoch) VALUES (1);
