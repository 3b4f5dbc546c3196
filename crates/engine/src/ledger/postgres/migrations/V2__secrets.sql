-- What all nodes share and nobody else may know: the key that signs browser sessions.
CREATE TABLE holdfast.secrets (
    name    text COLLATE "C" PRIMARY KEY,
    value   bytea NOT NULL
);
REVOKE ALL ON holdfast.secrets FROM PUBLIC;
