-- From format 2, which did not know that holders leave and come back.

ALTER TABLE holds ADD COLUMN returns_ms INTEGER CHECK (returns_ms IS NULL OR state = 'active');
ALTER TABLE holds ADD COLUMN returns_at TEXT
    GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', returns_ms / 1000.0, 'unixepoch')) VIRTUAL;
