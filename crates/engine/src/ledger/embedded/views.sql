-- The tables as people read them: each moment in words as well. Made anew with every change of the format.

DROP VIEW IF EXISTS readable_holds;
CREATE VIEW readable_holds AS SELECT *,
    strftime('%Y-%m-%dT%H:%M:%fZ', placed_ms / 1000.0, 'unixepoch') AS placed_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', expires_ms / 1000.0, 'unixepoch') AS expires_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch') AS ended_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', pinned_ms / 1000.0, 'unixepoch') AS pinned_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', returns_ms / 1000.0, 'unixepoch') AS returns_at
FROM holds;

DROP VIEW IF EXISTS readable_bookings;
CREATE VIEW readable_bookings AS SELECT *,
    strftime('%Y-%m-%dT%H:%M:%fZ', created_ms / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', cancelled_ms / 1000.0, 'unixepoch') AS cancelled_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', failed_ms / 1000.0, 'unixepoch') AS failed_at
FROM bookings;

DROP VIEW IF EXISTS readable_payments;
CREATE VIEW readable_payments AS SELECT *,
    strftime('%Y-%m-%dT%H:%M:%fZ', due_ms / 1000.0, 'unixepoch') AS due_at
FROM payments;

DROP VIEW IF EXISTS readable_journal;
CREATE VIEW readable_journal AS SELECT *,
    strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at
FROM journal;
