-- Two indexes that no statement ever read: every hold paid for them, at its beginning and at its end. What is due a node
-- knows from its copy.
SET LOCAL lock_timeout = '2s';
DROP INDEX holdfast.holds_active;
DROP INDEX holdfast.holds_paying;
