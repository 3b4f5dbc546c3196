-- By when they were given, so that old answers are found without reading all others. The index that was there knows of each
-- stretch of the table what is oldest in it, and goes on to say so when the space is used again: after the first seven days
-- every stretch seemed to have old ones.
--
-- It is built inside the migration, and whoever gives a key its answer waits meanwhile: about a second for a million.
-- A node of the version before forgets by either.

SET LOCAL lock_timeout = '2s';
CREATE INDEX answers_by_time ON holdfast.answers (at);
DROP INDEX holdfast.answers_by_age;
