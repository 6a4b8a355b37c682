CREATE TABLE sutra_instance (
  id BLOB NOT NULL,
  tenant TEXT NOT NULL,
  deployment TEXT NOT NULL,
  module TEXT NOT NULL,
  process TEXT NOT NULL,
  channel TEXT NOT NULL,
  parent BLOB,
  parent_wait INTEGER,
  root BLOB,
  status TEXT NOT NULL,
  snapshot BLOB NOT NULL,
  fault_code TEXT,
  fault_detail TEXT,
  fault_node TEXT,
  claim_owner TEXT,
  claim_epoch INTEGER NOT NULL,
  claimed_at INTEGER,
  last_step BLOB,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_instance_list ON sutra_instance (tenant, id);
CREATE INDEX sutra_instance_live ON sutra_instance (deployment, status) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_revision ON sutra_instance (deployment, id) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_process ON sutra_instance (tenant, process, id) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_failed ON sutra_instance (tenant, id) WHERE status = 'failed';
CREATE INDEX sutra_instance_claimed ON sutra_instance (claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX sutra_instance_ended ON sutra_instance (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sutra_instance_parent ON sutra_instance (parent, tenant, id) WHERE parent IS NOT NULL;

CREATE TABLE sutra_wait (
  instance BLOB NOT NULL,
  wait_id INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  node TEXT NOT NULL,
  name_key BLOB,
  armed_at INTEGER NOT NULL,
  due_at INTEGER,
  attempt_at INTEGER,
  PRIMARY KEY (instance, wait_id)
) WITHOUT ROWID;
CREATE INDEX sutra_wait_name ON sutra_wait (tenant, name_key, instance, wait_id) WHERE name_key IS NOT NULL;
CREATE INDEX sutra_wait_attempt ON sutra_wait (attempt_at) WHERE attempt_at IS NOT NULL;

CREATE TABLE sutra_alias (
  instance BLOB NOT NULL,
  wait_id INTEGER NOT NULL,
  alias_key BLOB NOT NULL,
  tenant TEXT NOT NULL,
  module TEXT NOT NULL,
  name TEXT NOT NULL,
  unique_key BLOB,
  PRIMARY KEY (instance, wait_id, alias_key)
) WITHOUT ROWID;
CREATE INDEX sutra_alias_value ON sutra_alias (alias_key, tenant);
CREATE UNIQUE INDEX sutra_alias_unique ON sutra_alias (unique_key);

CREATE TABLE sutra_inbox (
  event_key BLOB NOT NULL,
  tenant TEXT NOT NULL,
  channel TEXT NOT NULL,
  event_id BLOB,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  target BLOB,
  wait_id INTEGER,
  source BLOB,
  deployment TEXT,
  name_key BLOB,
  correlation_key BLOB,
  stream TEXT,
  position INTEGER,
  cursor_at BLOB,
  payload BLOB,
  instance BLOB,
  step BLOB,
  reply BLOB,
  attempts INTEGER NOT NULL,
  next_attempt_at INTEGER,
  accepted_at INTEGER NOT NULL,
  expires_at INTEGER,
  done_at INTEGER,
  error TEXT,
  PRIMARY KEY (event_key)
);
CREATE INDEX sutra_inbox_due ON sutra_inbox (next_attempt_at) WHERE state = 'pending';
CREATE INDEX sutra_inbox_target ON sutra_inbox (target) WHERE state = 'pending';
CREATE INDEX sutra_inbox_name ON sutra_inbox (tenant, name_key) WHERE state = 'pending';
CREATE INDEX sutra_inbox_stream ON sutra_inbox (tenant, channel, stream, position) WHERE state = 'pending';
CREATE INDEX sutra_inbox_done ON sutra_inbox (done_at) WHERE state = 'done';
CREATE INDEX sutra_inbox_dead ON sutra_inbox (accepted_at) WHERE state = 'dead';

CREATE TABLE sutra_outbox (
  id BLOB NOT NULL,
  tenant TEXT NOT NULL,
  deployment TEXT NOT NULL,
  instance BLOB,
  seq INTEGER NOT NULL,
  destination TEXT NOT NULL,
  content_type TEXT NOT NULL,
  headers BLOB NOT NULL,
  body BLOB,
  wait_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  trace BLOB,
  attempts INTEGER NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  claimed_by TEXT,
  claimed_at INTEGER,
  poisoned INTEGER NOT NULL,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_outbox_due ON sutra_outbox (next_attempt_at, id) WHERE poisoned = 0;
CREATE INDEX sutra_outbox_gate ON sutra_outbox (deployment) WHERE poisoned = 0;
CREATE INDEX sutra_outbox_list ON sutra_outbox (tenant, id, poisoned);
CREATE INDEX sutra_outbox_poisoned ON sutra_outbox (id) WHERE poisoned = 1;

CREATE TABLE sutra_task (
  id BLOB NOT NULL,
  tenant TEXT NOT NULL,
  instance BLOB NOT NULL,
  wait_id INTEGER NOT NULL,
  deployment TEXT NOT NULL,
  process TEXT NOT NULL,
  node TEXT NOT NULL,
  topic TEXT NOT NULL,
  inputs BLOB,
  headers BLOB,
  retries INTEGER NOT NULL,
  unlocked INTEGER NOT NULL,
  lock_owner TEXT,
  lock_epoch INTEGER NOT NULL,
  lock_until INTEGER NOT NULL,
  terminal INTEGER NOT NULL,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_task_fetch ON sutra_task (topic, lock_until, id) WHERE terminal = 0;
CREATE INDEX sutra_task_own ON sutra_task (tenant, topic, lock_until, id) WHERE terminal = 0;
CREATE INDEX sutra_task_gate ON sutra_task (deployment) WHERE terminal = 0;
CREATE INDEX sutra_task_instance ON sutra_task (instance);
CREATE INDEX sutra_task_list ON sutra_task (tenant, id, terminal);
CREATE INDEX sutra_task_terminal ON sutra_task (id) WHERE terminal = 1;

CREATE TABLE sutra_schedule (
  deployment TEXT NOT NULL,
  process TEXT NOT NULL,
  node TEXT NOT NULL,
  tenant TEXT NOT NULL,
  next_due_at INTEGER NOT NULL,
  anchor_at INTEGER NOT NULL,
  fires_left INTEGER NOT NULL,
  PRIMARY KEY (deployment, process, node)
) WITHOUT ROWID;
CREATE INDEX sutra_schedule_due ON sutra_schedule (next_due_at);

CREATE TABLE sutra_history (
  instance BLOB NOT NULL,
  seq INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  step BLOB NOT NULL,
  document BLOB NOT NULL,
  PRIMARY KEY (instance, seq)
);

CREATE TABLE sutra_deployment (
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  module TEXT NOT NULL,
  version TEXT NOT NULL,
  number INTEGER NOT NULL,
  phase TEXT NOT NULL,
  size INTEGER NOT NULL,
  operation BLOB,
  activated_at INTEGER NOT NULL,
  drained_at INTEGER,
  retired_at INTEGER,
  since INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_deployment_phase ON sutra_deployment (phase, retired_at);
CREATE UNIQUE INDEX sutra_deployment_active ON sutra_deployment (tenant, module, version) WHERE phase = 'active';
CREATE UNIQUE INDEX sutra_deployment_number ON sutra_deployment (tenant, module, version, number);

CREATE TABLE sutra_archive (
  owner TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (owner, chunk)
);

CREATE TABLE sutra_door (
  door_key BLOB NOT NULL,
  tenant TEXT NOT NULL,
  deployment TEXT NOT NULL,
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  channel_key BLOB NOT NULL,
  PRIMARY KEY (door_key)
) WITHOUT ROWID;
CREATE INDEX sutra_door_deployment ON sutra_door (deployment);
CREATE UNIQUE INDEX sutra_door_channel ON sutra_door (channel_key);

CREATE TABLE sutra_operation (
  id BLOB NOT NULL,
  tenant TEXT NOT NULL,
  state TEXT NOT NULL,
  revision TEXT NOT NULL,
  fault_code TEXT,
  fault_detail TEXT,
  fault_node TEXT,
  callback TEXT NOT NULL,
  notify TEXT NOT NULL,
  options BLOB,
  owner TEXT NOT NULL,
  touched_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_operation_open ON sutra_operation (touched_at) WHERE state = 'pending';

CREATE TABLE sutra_lease (
  role TEXT NOT NULL,
  holder TEXT NOT NULL,
  term INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (role)
) WITHOUT ROWID;

CREATE TABLE sutra_version (
  id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;

CREATE TABLE sutra_replica (
  id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  served INTEGER NOT NULL,
  broken TEXT NOT NULL,
  lanes INTEGER NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;

INSERT INTO sutra_version (id, version) VALUES (1, 1);
