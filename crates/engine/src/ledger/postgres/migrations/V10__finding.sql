-- What lists are found by, however long the books are. None of these costs a hold of one offer anything but a look at its
-- entry: two of the journal's are only for entries that carry a booking, or several offers.
--
-- They are built inside the migration, and whoever writes waits meanwhile: a fraction of a second for a million entries.
-- A node of the version before neither needs them nor is disturbed.

SET LOCAL lock_timeout = '2s';
CREATE INDEX journal_by_booking ON holdfast.journal (booking_id, seq) WHERE booking_id IS NOT NULL;
CREATE INDEX journal_of_several ON holdfast.journal (seq) WHERE cardinality(offers) > 1;
CREATE INDEX bookings_by_holder ON holdfast.bookings (holder, place);
CREATE INDEX bookings_by_offer ON holdfast.bookings (offer_id, place);
CREATE INDEX bookings_of_several ON holdfast.bookings (place) WHERE cardinality(offers) > 1;
