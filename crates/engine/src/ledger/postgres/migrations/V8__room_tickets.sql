-- Which ticket a session has, so that whoever lost the token, or threw it away, is not given a second one beside it. A node
-- of the version before does not look here: until the last of them has gone, a session may have one from it and one from
-- a newer node.
CREATE TABLE holdfast.room_tickets (
    offer_id   text COLLATE "C" NOT NULL REFERENCES holdfast.rooms ON DELETE CASCADE,
    -- Sixteen bytes of the hash of the session's name.
    bearer     bytea NOT NULL,
    run        bigint NOT NULL,
    number     bigint NOT NULL,
    PRIMARY KEY (offer_id, bearer)
);
