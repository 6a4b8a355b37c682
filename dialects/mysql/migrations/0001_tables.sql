CREATE TABLE IF NOT EXISTS sutra_instance (
  id BINARY(16) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  deployment VARBINARY(255) NOT NULL,
  module VARBINARY(255) NOT NULL,
  process VARBINARY(255) NOT NULL,
  channel VARBINARY(255) NOT NULL,
  parent BINARY(16),
  parent_wait BIGINT,
  root BINARY(16),
  status VARBINARY(255) NOT NULL,
  snapshot LONGBLOB NOT NULL,
  fault_code VARBINARY(255),
  fault_detail LONGBLOB,
  fault_node VARBINARY(255),
  claim_owner VARBINARY(255),
  claim_epoch BIGINT NOT NULL,
  claimed_at DATETIME(6),
  last_step BINARY(16),
  created_at DATETIME(6) NOT NULL,
  updated_at DATETIME(6) NOT NULL,
  ended_at DATETIME(6),
  PRIMARY KEY (id),
  KEY sutra_instance_list (tenant, id),
  KEY sutra_instance_live (deployment, ended_at, status),
  KEY sutra_instance_revision (deployment, ended_at, id),
  KEY sutra_instance_process (tenant, process, ended_at, id),
  KEY sutra_instance_failed (tenant, status, id),
  KEY sutra_instance_claimed (claimed_at),
  KEY sutra_instance_ended (ended_at),
  KEY sutra_instance_parent (parent, tenant, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_wait (
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  kind VARBINARY(255) NOT NULL,
  node VARBINARY(255) NOT NULL,
  name_key BINARY(32),
  armed_at DATETIME(6) NOT NULL,
  due_at DATETIME(6),
  attempt_at DATETIME(6),
  PRIMARY KEY (instance, wait_id),
  KEY sutra_wait_name (tenant, name_key, instance, wait_id),
  KEY sutra_wait_attempt (attempt_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_alias (
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  alias_key BINARY(32) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  module VARBINARY(255) NOT NULL,
  name VARBINARY(255) NOT NULL,
  unique_key BINARY(32),
  PRIMARY KEY (instance, wait_id, alias_key),
  KEY sutra_alias_value (alias_key, tenant),
  UNIQUE KEY sutra_alias_unique (unique_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_inbox (
  event_key BINARY(32) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  channel VARBINARY(255) NOT NULL,
  event_id LONGBLOB,
  kind VARBINARY(255) NOT NULL,
  state VARBINARY(255) NOT NULL,
  target BINARY(16),
  wait_id BIGINT,
  source BINARY(16),
  deployment VARBINARY(255),
  name_key BINARY(32),
  correlation_key BINARY(32),
  stream VARBINARY(255),
  position BIGINT,
  cursor_at LONGBLOB,
  payload LONGBLOB,
  instance BINARY(16),
  step BINARY(16),
  reply LONGBLOB,
  attempts BIGINT NOT NULL,
  next_attempt_at DATETIME(6),
  accepted_at DATETIME(6) NOT NULL,
  expires_at DATETIME(6),
  done_at DATETIME(6),
  error LONGBLOB,
  PRIMARY KEY (event_key),
  KEY sutra_inbox_due (state, next_attempt_at),
  KEY sutra_inbox_target (state, target),
  KEY sutra_inbox_name (state, tenant, name_key),
  KEY sutra_inbox_stream (state, tenant, channel, stream, position),
  KEY sutra_inbox_done (state, done_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_outbox (
  id BINARY(16) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  deployment VARBINARY(255) NOT NULL,
  instance BINARY(16),
  seq BIGINT NOT NULL,
  destination LONGBLOB NOT NULL,
  content_type VARBINARY(255) NOT NULL,
  headers LONGBLOB NOT NULL,
  body LONGBLOB,
  wait_id BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  trace LONGBLOB,
  attempts BIGINT NOT NULL,
  next_attempt_at DATETIME(6) NOT NULL,
  claimed_by VARBINARY(255),
  claimed_at DATETIME(6),
  poisoned BIGINT NOT NULL,
  last_error LONGBLOB,
  created_at DATETIME(6) NOT NULL,
  PRIMARY KEY (id),
  KEY sutra_outbox_due (poisoned, next_attempt_at, id),
  KEY sutra_outbox_gate (deployment, poisoned),
  KEY sutra_outbox_list (tenant, id, poisoned)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_task (
  id BINARY(16) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  deployment VARBINARY(255) NOT NULL,
  process VARBINARY(255) NOT NULL,
  node VARBINARY(255) NOT NULL,
  topic VARBINARY(255) NOT NULL,
  inputs LONGBLOB,
  headers LONGBLOB,
  retries BIGINT NOT NULL,
  unlocked BIGINT NOT NULL,
  lock_owner VARBINARY(255),
  lock_epoch BIGINT NOT NULL,
  lock_until DATETIME(6) NOT NULL,
  terminal BIGINT NOT NULL,
  last_error LONGBLOB,
  created_at DATETIME(6) NOT NULL,
  PRIMARY KEY (id),
  KEY sutra_task_fetch (terminal, topic, lock_until, id),
  KEY sutra_task_own (tenant, terminal, topic, lock_until, id),
  KEY sutra_task_gate (deployment, terminal),
  KEY sutra_task_instance (instance),
  KEY sutra_task_list (tenant, id, terminal)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_schedule (
  deployment VARBINARY(255) NOT NULL,
  process VARBINARY(255) NOT NULL,
  node VARBINARY(255) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  next_due_at DATETIME(6) NOT NULL,
  anchor_at DATETIME(6) NOT NULL,
  fires_left BIGINT NOT NULL,
  PRIMARY KEY (deployment, process, node),
  KEY sutra_schedule_due (next_due_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_history (
  instance BINARY(16) NOT NULL,
  seq BIGINT NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  at DATETIME(6) NOT NULL,
  step BINARY(16) NOT NULL,
  document LONGBLOB NOT NULL,
  PRIMARY KEY (instance, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_deployment (
  id VARBINARY(255) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  module VARBINARY(255) NOT NULL,
  version VARBINARY(255) NOT NULL,
  number BIGINT NOT NULL,
  phase VARBINARY(255) NOT NULL,
  size BIGINT NOT NULL,
  operation BINARY(16),
  activated_at DATETIME(6) NOT NULL,
  drained_at DATETIME(6),
  retired_at DATETIME(6),
  since BIGINT NOT NULL,
  dropped BIGINT NOT NULL,
  active_slot VARBINARY(800) AS (CASE WHEN phase = 'active' THEN CONCAT(tenant, '--', module, '--', version) END) VIRTUAL,
  PRIMARY KEY (id),
  KEY sutra_deployment_phase (phase, retired_at),
  UNIQUE KEY sutra_deployment_active (active_slot),
  UNIQUE KEY sutra_deployment_number (tenant, module, version, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_archive (
  owner VARBINARY(255) NOT NULL,
  chunk BIGINT NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  bytes LONGBLOB NOT NULL,
  PRIMARY KEY (owner, chunk)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_door (
  door_key BINARY(32) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  deployment VARBINARY(255) NOT NULL,
  channel VARBINARY(255) NOT NULL,
  address LONGBLOB NOT NULL,
  channel_key BINARY(32) NOT NULL,
  PRIMARY KEY (door_key),
  KEY sutra_door_deployment (deployment),
  UNIQUE KEY sutra_door_channel (channel_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_operation (
  id BINARY(16) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  state VARBINARY(255) NOT NULL,
  revision VARBINARY(255) NOT NULL,
  fault_code VARBINARY(255),
  fault_detail LONGBLOB,
  fault_node VARBINARY(255),
  callback LONGBLOB NOT NULL,
  notify LONGBLOB NOT NULL,
  options LONGBLOB,
  owner VARBINARY(255) NOT NULL,
  touched_at DATETIME(6) NOT NULL,
  created_at DATETIME(6) NOT NULL,
  PRIMARY KEY (id),
  KEY sutra_operation_open (state, touched_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_lease (
  role VARBINARY(255) NOT NULL,
  holder VARBINARY(255) NOT NULL,
  term BIGINT NOT NULL,
  expires_at DATETIME(6) NOT NULL,
  PRIMARY KEY (role)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_version (
  id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS sutra_replica (
  id VARBINARY(255) NOT NULL,
  started_at DATETIME(6) NOT NULL,
  seen_at DATETIME(6) NOT NULL,
  served BIGINT NOT NULL,
  broken LONGBLOB NOT NULL,
  lanes BIGINT NOT NULL,
  address VARBINARY(255) NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

INSERT INTO sutra_version (id, version) SELECT 1, 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM sutra_version);
