-- Every shop counted its epochs from one. A shop whose database was made anew beside the same Redis then believed what
-- the one before had left there. Epochs that begin anywhere do not meet.
UPDATE holdfast.gate_epoch SET epoch = epoch + floor(random() * 1e15)::bigint;
