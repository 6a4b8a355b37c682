ALTER TABLE sutra_inbox
  ADD refused_at DATETIME2(6) NULL;
ALTER TABLE sutra_wait
  ADD error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL;
ALTER TABLE sutra_wait
  ADD refused_at DATETIME2(6) NULL;
