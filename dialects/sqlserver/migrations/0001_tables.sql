CREATE TABLE sutra_instance (
  id BINARY(16) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  module NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  process NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  channel NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  parent BINARY(16) NULL,
  parent_wait BIGINT NULL,
  root BINARY(16) NULL,
  status NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  snapshot VARBINARY(MAX) NOT NULL,
  fault_code NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  fault_detail NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
  fault_node NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  claim_owner NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  claim_epoch BIGINT NOT NULL,
  claimed_at DATETIME2(6) NULL,
  last_step BINARY(16) NULL,
  created_at DATETIME2(6) NOT NULL,
  updated_at DATETIME2(6) NOT NULL,
  ended_at DATETIME2(6) NULL,
  CONSTRAINT sutra_instance_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_instance_list ON sutra_instance (tenant, id) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_live ON sutra_instance (deployment, status) WHERE ended_at IS NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_revision ON sutra_instance (deployment, id) WHERE ended_at IS NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_process ON sutra_instance (tenant, process, id) WHERE ended_at IS NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_failed ON sutra_instance (tenant, id) WHERE status = 'failed' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_claimed ON sutra_instance (claimed_at) WHERE claimed_at IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_ended ON sutra_instance (ended_at) WHERE ended_at IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_parent ON sutra_instance (parent, tenant, id) WHERE parent IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_instance SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_wait (
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  kind NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  node NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  name_key BINARY(32) NULL,
  armed_at DATETIME2(6) NOT NULL,
  due_at DATETIME2(6) NULL,
  attempt_at DATETIME2(6) NULL,
  CONSTRAINT sutra_wait_pk PRIMARY KEY CLUSTERED (instance, wait_id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_wait_name ON sutra_wait (tenant, name_key, instance, wait_id) WHERE name_key IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_wait_attempt ON sutra_wait (attempt_at) WHERE attempt_at IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_wait SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_alias (
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  alias_key BINARY(32) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  module NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  name NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  unique_key BINARY(32) NULL,
  CONSTRAINT sutra_alias_pk PRIMARY KEY CLUSTERED (instance, wait_id, alias_key) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_alias_value ON sutra_alias (alias_key, tenant) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE UNIQUE INDEX sutra_alias_unique ON sutra_alias (unique_key) WHERE unique_key IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_alias SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_inbox (
  event_key BINARY(32) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  channel NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  event_id VARBINARY(MAX) NULL,
  kind NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  state NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  target BINARY(16) NULL,
  wait_id BIGINT NULL,
  source BINARY(16) NULL,
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  name_key BINARY(32) NULL,
  correlation_key BINARY(32) NULL,
  stream NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  position BIGINT NULL,
  cursor_at VARBINARY(MAX) NULL,
  payload VARBINARY(MAX) NULL,
  instance BINARY(16) NULL,
  step BINARY(16) NULL,
  reply VARBINARY(MAX) NULL,
  attempts BIGINT NOT NULL,
  next_attempt_at DATETIME2(6) NULL,
  accepted_at DATETIME2(6) NOT NULL,
  expires_at DATETIME2(6) NULL,
  done_at DATETIME2(6) NULL,
  error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
  CONSTRAINT sutra_inbox_pk PRIMARY KEY CLUSTERED (event_key) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_inbox_due ON sutra_inbox (next_attempt_at) WHERE state = 'pending' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_inbox_target ON sutra_inbox (target) WHERE state = 'pending' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_inbox_name ON sutra_inbox (tenant, name_key) WHERE state = 'pending' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_inbox_stream ON sutra_inbox (tenant, channel, stream, position) WHERE state = 'pending' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_inbox_done ON sutra_inbox (done_at) WHERE state = 'done' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_inbox_dead ON sutra_inbox (accepted_at) WHERE state = 'dead' WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_inbox SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_outbox (
  id BINARY(16) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  instance BINARY(16) NULL,
  seq BIGINT NOT NULL,
  destination NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
  content_type NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  headers VARBINARY(MAX) NOT NULL,
  body VARBINARY(MAX) NULL,
  wait_id BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  trace VARBINARY(MAX) NULL,
  attempts BIGINT NOT NULL,
  next_attempt_at DATETIME2(6) NOT NULL,
  claimed_by NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  claimed_at DATETIME2(6) NULL,
  poisoned BIGINT NOT NULL,
  last_error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
  created_at DATETIME2(6) NOT NULL,
  CONSTRAINT sutra_outbox_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_outbox_due ON sutra_outbox (next_attempt_at, id) WHERE poisoned = 0 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_outbox_gate ON sutra_outbox (deployment) WHERE poisoned = 0 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_outbox_list ON sutra_outbox (tenant, id, poisoned) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_outbox_poisoned ON sutra_outbox (id) WHERE poisoned = 1 WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_outbox SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_task (
  id BINARY(16) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  instance BINARY(16) NOT NULL,
  wait_id BIGINT NOT NULL,
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  process NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  node NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  topic NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  inputs VARBINARY(MAX) NULL,
  headers VARBINARY(MAX) NULL,
  retries BIGINT NOT NULL,
  unlocked BIGINT NOT NULL,
  lock_owner NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  lock_epoch BIGINT NOT NULL,
  lock_until DATETIME2(6) NOT NULL,
  terminal BIGINT NOT NULL,
  last_error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
  created_at DATETIME2(6) NOT NULL,
  CONSTRAINT sutra_task_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_task_fetch ON sutra_task (topic, lock_until, id) WHERE terminal = 0 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_task_own ON sutra_task (tenant, topic, lock_until, id) WHERE terminal = 0 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_task_gate ON sutra_task (deployment) WHERE terminal = 0 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_task_instance ON sutra_task (instance) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_task_list ON sutra_task (tenant, id, terminal) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_task_terminal ON sutra_task (id) WHERE terminal = 1 WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_task SET (LOCK_ESCALATION = DISABLE);

-- No clustered key: its longest values are past the 900 bytes of one.
CREATE TABLE sutra_schedule (
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  process NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  node NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  next_due_at DATETIME2(6) NOT NULL,
  anchor_at DATETIME2(6) NOT NULL,
  fires_left BIGINT NOT NULL,
  CONSTRAINT sutra_schedule_pk PRIMARY KEY NONCLUSTERED (deployment, process, node) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_schedule_due ON sutra_schedule (next_due_at) WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_schedule SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_history (
  instance BINARY(16) NOT NULL,
  seq BIGINT NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  at DATETIME2(6) NOT NULL,
  step BINARY(16) NOT NULL,
  document VARBINARY(MAX) NOT NULL,
  CONSTRAINT sutra_history_pk PRIMARY KEY CLUSTERED (instance, seq) WITH (ALLOW_PAGE_LOCKS = OFF)
);
ALTER TABLE sutra_history SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_deployment (
  id NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  module NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  version NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  number BIGINT NOT NULL,
  phase NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  size BIGINT NOT NULL,
  operation BINARY(16) NULL,
  activated_at DATETIME2(6) NOT NULL,
  drained_at DATETIME2(6) NULL,
  retired_at DATETIME2(6) NULL,
  since BIGINT NOT NULL,
  dropped BIGINT NOT NULL,
  CONSTRAINT sutra_deployment_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_deployment_phase ON sutra_deployment (phase, retired_at) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE UNIQUE INDEX sutra_deployment_active ON sutra_deployment (tenant, module, version) WHERE phase = 'active' WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE UNIQUE INDEX sutra_deployment_number ON sutra_deployment (tenant, module, version, number) WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_deployment SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_archive (
  owner NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  chunk BIGINT NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  bytes VARBINARY(MAX) NOT NULL,
  CONSTRAINT sutra_archive_pk PRIMARY KEY CLUSTERED (owner, chunk) WITH (ALLOW_PAGE_LOCKS = OFF)
);
ALTER TABLE sutra_archive SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_door (
  door_key BINARY(32) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  deployment NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  channel NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  address NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
  channel_key BINARY(32) NOT NULL,
  CONSTRAINT sutra_door_pk PRIMARY KEY CLUSTERED (door_key) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_door_deployment ON sutra_door (deployment) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE UNIQUE INDEX sutra_door_channel ON sutra_door (channel_key) WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_door SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_operation (
  id BINARY(16) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  state NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  revision NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  fault_code NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  fault_detail NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
  fault_node NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NULL,
  callback NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
  notify NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
  options VARBINARY(MAX) NULL,
  owner NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  touched_at DATETIME2(6) NOT NULL,
  created_at DATETIME2(6) NOT NULL,
  CONSTRAINT sutra_operation_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_operation_open ON sutra_operation (touched_at) WHERE state = 'pending' WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_operation SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_lease (
  role NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  holder NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  term BIGINT NOT NULL,
  expires_at DATETIME2(6) NOT NULL,
  CONSTRAINT sutra_lease_pk PRIMARY KEY CLUSTERED (role) WITH (ALLOW_PAGE_LOCKS = OFF)
);
ALTER TABLE sutra_lease SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_version (
  id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  CONSTRAINT sutra_version_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
ALTER TABLE sutra_version SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE sutra_replica (
  id NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  started_at DATETIME2(6) NOT NULL,
  seen_at DATETIME2(6) NOT NULL,
  served BIGINT NOT NULL,
  broken NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
  lanes BIGINT NOT NULL,
  address NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  CONSTRAINT sutra_replica_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
ALTER TABLE sutra_replica SET (LOCK_ESCALATION = DISABLE);

INSERT INTO sutra_version (id, version) VALUES (1, 1);
