-- Payments. A hold may be pinned while its booking waits for the money, a booking may be pending or failed, and the
-- money side of a booking has a row of its own.
--
-- A node of the version before works on this schema as it did before: what it reads and writes is all still there, and
-- means the same. It does not know the new states, so no payment may begin before the last such node has gone; it would
-- refuse to read the books then, rather than read them wrongly.

-- A wider CHECK holds for every row that the narrower one let in, so nothing has to be read again.
ALTER TABLE holdfast.holds
    DROP CONSTRAINT holds_state_check,
    DROP CONSTRAINT holds_check,
    DROP CONSTRAINT holds_check1,
    ADD COLUMN payments smallint NOT NULL DEFAULT 0 CHECK (payments BETWEEN 0 AND 255),
    ADD COLUMN pinned_until timestamptz,
    ADD CONSTRAINT holds_state_check CHECK (state IN ('active', 'paying', 'booked', 'released', 'expired')) NOT VALID,
    ADD CONSTRAINT holds_ended_at_check CHECK ((ended_at IS NULL) = (state IN ('active', 'paying'))) NOT VALID,
    ADD CONSTRAINT holds_booking_id_check CHECK ((booking_id IS NULL) = (state NOT IN ('booked', 'paying'))) NOT VALID,
    ADD CONSTRAINT holds_pinned_check CHECK ((pinned_until IS NULL) = (state <> 'paying')) NOT VALID;
CREATE INDEX holds_paying ON holdfast.holds (pinned_until) WHERE state = 'paying';

ALTER TABLE holdfast.bookings
    DROP CONSTRAINT bookings_state_check,
    DROP CONSTRAINT bookings_check,
    DROP CONSTRAINT one_booking,
    ADD COLUMN failed_at timestamptz,
    ADD CONSTRAINT bookings_state_check CHECK (state IN ('pending', 'confirmed', 'cancelled', 'failed')) NOT VALID,
    ADD CONSTRAINT bookings_cancelled_check CHECK ((cancelled_at IS NULL) = (state <> 'cancelled')) NOT VALID,
    ADD CONSTRAINT bookings_failed_check CHECK ((failed_at IS NULL) = (state <> 'failed')) NOT VALID;
-- A hold becomes a booking once. One that was not paid leaves the hold free for another try.
CREATE UNIQUE INDEX one_booking ON holdfast.bookings (offer_id, hold_id) WHERE state <> 'failed';

CREATE TABLE holdfast.payments (
    offer_id     text COLLATE "C" NOT NULL,
    booking_id   text COLLATE "C" NOT NULL,
    provider     text NOT NULL CHECK (provider IN ('stripe')),
    state        text NOT NULL CHECK (state IN ('requires_payment', 'processing', 'authorized', 'succeeded', 'refunding',
                                                'refunded', 'failed', 'manual')),
    method       text,
    -- The provider's name for it. A booking has at most one, and none is another's.
    intent       text COLLATE "C",
    attempts     bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- When somebody must next look at it: always, unless it is at rest.
    due_at       timestamptz CHECK ((due_at IS NULL)
                     = (state NOT IN ('requires_payment', 'processing', 'authorized', 'refunding'))),
    captured     bigint NOT NULL DEFAULT 0,
    refunded     bigint NOT NULL DEFAULT 0,
    why          text,
    -- Somebody looks at it until then; with the next change that is over.
    leased_until timestamptz,
    PRIMARY KEY (offer_id, booking_id),
    FOREIGN KEY (offer_id, booking_id) REFERENCES holdfast.bookings DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT payments_sums CHECK (captured >= refunded AND refunded >= 0),
    CONSTRAINT payments_in_flight CHECK (captured = 0 OR state NOT IN ('requires_payment', 'processing', 'authorized',
                                                                       'failed')),
    CONSTRAINT payments_refunded CHECK (state <> 'refunded' OR captured = refunded),
    CONSTRAINT payments_kept CHECK (state NOT IN ('succeeded', 'refunding') OR (captured > 0 AND refunded = 0))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX one_intent ON holdfast.payments (intent);
CREATE INDEX payments_due ON holdfast.payments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX payments_by_state ON holdfast.payments (state) WHERE state <> 'succeeded';

-- A key that began a payment has no words before the payment does: until then it points at the booking.
ALTER TABLE holdfast.answers
    ADD COLUMN booking_id text COLLATE "C",
    ADD CONSTRAINT answers_open CHECK ((booking_id IS NULL) = (status <> 0)) NOT VALID;
