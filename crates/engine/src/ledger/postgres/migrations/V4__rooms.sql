-- Waiting rooms. A node of the version before does not look here, and lets its visitors by as it did before: open no room
-- before the last such node has gone.

-- One row a room, whatever the size of the crowd.
CREATE TABLE holdfast.rooms (
    offer_id   text COLLATE "C" PRIMARY KEY REFERENCES holdfast.offers,
    -- The plan and the counters, in JSON.
    doc        text NOT NULL,
    -- Those who are called or inside, thirteen bytes each; at most max_active of them.
    visits     bytea NOT NULL,
    -- One bit a ticket: it has been used.
    used       bytea NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

-- The places of those who wait at each node, the first of them. Only the last few seconds count.
CREATE TABLE holdfast.room_fronts (
    offer_id   text COLLATE "C" NOT NULL REFERENCES holdfast.rooms ON DELETE CASCADE,
    node       text COLLATE "C" NOT NULL,
    places     bytea NOT NULL,
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (offer_id, node)
) WITH (fillfactor = 50);
