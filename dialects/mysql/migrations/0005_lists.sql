SET @sutra = (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'sutra_instance_status');
SET @sutra = IF(@sutra > 0, 'DO 0', 'ALTER TABLE sutra_instance
  DROP KEY sutra_instance_list,
  DROP KEY sutra_instance_revision,
  DROP KEY sutra_instance_process,
  DROP KEY sutra_instance_failed,
  DROP KEY sutra_instance_process_ended,
  DROP KEY sutra_instance_revision_ended,
  ADD KEY sutra_instance_status (tenant, status, id),
  ADD KEY sutra_instance_process (tenant, process, status, id),
  ADD KEY sutra_instance_revision (deployment, status, id),
  ADD KEY sutra_instance_channel (tenant, channel, ended_at, id)');
PREPARE sutra FROM @sutra;
EXECUTE sutra;
DEALLOCATE PREPARE sutra;
