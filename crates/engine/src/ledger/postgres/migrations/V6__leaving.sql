-- Holders who leave: a hold then ends sooner, and remembers when it would have.
--
-- A node of the version before works on this schema as it did before, and reads the end of a hold that was left rightly.
-- It does not know the journal's entries about it, and loads the books anew rather than follow them wrongly: set
-- `leave_keep = "0s"` until the last such node has gone, or it does little else. No constraint says what `returns_to` must be, because such a node
-- ends and extends holds without touching it: it counts only while it lies beyond the end of an active hold.

ALTER TABLE holdfast.holds ADD COLUMN returns_to timestamptz;
