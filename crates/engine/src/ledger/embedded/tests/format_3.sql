-- Makes books of format 3 out of books of today, as far as bringing them up to date can tell: without the views, and with
-- the column of the journal that is dropped for them.

DROP VIEW readable_holds;
DROP VIEW readable_bookings;
DROP VIEW readable_payments;
DROP VIEW readable_journal;
ALTER TABLE journal ADD COLUMN at TEXT
    GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch')) VIRTUAL;
PRAGMA user_version = 3;
