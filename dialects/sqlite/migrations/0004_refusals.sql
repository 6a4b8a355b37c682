ALTER TABLE sutra_inbox
  ADD COLUMN refused_at INTEGER;
ALTER TABLE sutra_wait
  ADD COLUMN error TEXT;
ALTER TABLE sutra_wait
  ADD COLUMN refused_at INTEGER;
