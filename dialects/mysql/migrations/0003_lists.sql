SET @sutra = (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'sutra_instance_process_ended');
SET @sutra = IF(@sutra > 0, 'DO 0', 'ALTER TABLE sutra_instance
  ADD KEY sutra_instance_process_ended (tenant, process, id),
  ADD KEY sutra_instance_revision_ended (deployment, id)');
PREPARE sutra FROM @sutra;
EXECUTE sutra;
DEALLOCATE PREPARE sutra;
