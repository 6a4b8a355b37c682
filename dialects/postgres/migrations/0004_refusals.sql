ALTER TABLE sutra_inbox
  ADD COLUMN refused_at timestamptz;
ALTER TABLE sutra_wait
  ADD COLUMN error text COLLATE "C",
  ADD COLUMN refused_at timestamptz;
