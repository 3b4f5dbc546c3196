-- Every sale updates the rows of its units. With half of each page left free the new version of a row stays on its page,
-- also when one batch takes a whole row of seats, and no index has to learn of it. It counts for pages that are filled
-- from now on; a node of the version before notices nothing.
SET LOCAL lock_timeout = '2s';
ALTER TABLE holdfast.units SET (fillfactor = 45);
