SET @sutra = (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'sutra_inbox' AND column_name = 'refused_at');
SET @sutra = IF(@sutra > 0, 'DO 0', 'ALTER TABLE sutra_inbox
  ADD COLUMN refused_at DATETIME(6)');
PREPARE sutra FROM @sutra;
EXECUTE sutra;
DEALLOCATE PREPARE sutra;
SET @sutra = (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'sutra_wait' AND column_name = 'refused_at');
SET @sutra = IF(@sutra > 0, 'DO 0', 'ALTER TABLE sutra_wait
  ADD COLUMN error LONGBLOB,
  ADD COLUMN refused_at DATETIME(6)');
PREPARE sutra FROM @sutra;
EXECUTE sutra;
DEALLOCATE PREPARE sutra;
