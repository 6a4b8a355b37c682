CREATE TABLE sutra_instance (
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  deployment text COLLATE "C" NOT NULL,
  module text COLLATE "C" NOT NULL,
  process text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  parent uuid,
  parent_wait bigint,
  root uuid,
  status text COLLATE "C" NOT NULL,
  snapshot bytea NOT NULL,
  fault_code text COLLATE "C",
  fault_detail text COLLATE "C",
  fault_node text COLLATE "C",
  claim_owner text COLLATE "C",
  claim_epoch bigint NOT NULL,
  claimed_at timestamptz,
  last_step uuid,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sutra_instance_list ON sutra_instance (tenant, id);
CREATE INDEX sutra_instance_live ON sutra_instance (deployment, status) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_revision ON sutra_instance (deployment, id) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_process ON sutra_instance (tenant, process, id) WHERE ended_at IS NULL;
CREATE INDEX sutra_instance_failed ON sutra_instance (tenant, id) WHERE status = 'failed';
CREATE INDEX sutra_instance_claimed ON sutra_instance (claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX sutra_instance_ended ON sutra_instance (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sutra_instance_parent ON sutra_instance (parent, tenant, id) WHERE parent IS NOT NULL;
ALTER TABLE sutra_instance ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_instance FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_instance USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_wait (
  instance uuid NOT NULL,
  wait_id bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  name_key bytea,
  armed_at timestamptz NOT NULL,
  due_at timestamptz,
  attempt_at timestamptz,
  PRIMARY KEY (instance, wait_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sutra_wait_name ON sutra_wait (tenant, name_key, instance, wait_id) WHERE name_key IS NOT NULL;
CREATE INDEX sutra_wait_attempt ON sutra_wait (attempt_at) WHERE attempt_at IS NOT NULL;
ALTER TABLE sutra_wait ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_wait FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_wait USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_alias (
  instance uuid NOT NULL,
  wait_id bigint NOT NULL,
  alias_key bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  module text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  unique_key bytea,
  PRIMARY KEY (instance, wait_id, alias_key)
);
CREATE INDEX sutra_alias_value ON sutra_alias (alias_key, tenant);
CREATE UNIQUE INDEX sutra_alias_unique ON sutra_alias (unique_key);
ALTER TABLE sutra_alias ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_alias FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_alias USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_inbox (
  event_key bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  event_id bytea,
  kind text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  target uuid,
  wait_id bigint,
  source uuid,
  deployment text COLLATE "C",
  name_key bytea,
  correlation_key bytea,
  stream text COLLATE "C",
  position bigint,
  cursor_at bytea,
  payload bytea,
  instance uuid,
  step uuid,
  reply bytea,
  attempts bigint NOT NULL,
  next_attempt_at timestamptz,
  accepted_at timestamptz NOT NULL,
  expires_at timestamptz,
  done_at timestamptz,
  error text COLLATE "C",
  PRIMARY KEY (event_key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sutra_inbox_due ON sutra_inbox (next_attempt_at) WHERE state = 'pending';
CREATE INDEX sutra_inbox_target ON sutra_inbox (target) WHERE state = 'pending';
CREATE INDEX sutra_inbox_name ON sutra_inbox (tenant, name_key) WHERE state = 'pending';
CREATE INDEX sutra_inbox_stream ON sutra_inbox (tenant, channel, stream, position) WHERE state = 'pending';
CREATE INDEX sutra_inbox_done ON sutra_inbox (done_at) WHERE state = 'done';
CREATE INDEX sutra_inbox_dead ON sutra_inbox (accepted_at) WHERE state = 'dead';
ALTER TABLE sutra_inbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_inbox FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_inbox USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_outbox (
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  deployment text COLLATE "C" NOT NULL,
  instance uuid,
  seq bigint NOT NULL,
  destination text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  headers bytea NOT NULL,
  body bytea,
  wait_id bigint NOT NULL,
  attempt bigint NOT NULL,
  trace bytea,
  attempts bigint NOT NULL,
  next_attempt_at timestamptz NOT NULL,
  claimed_by text COLLATE "C",
  claimed_at timestamptz,
  poisoned bigint NOT NULL,
  last_error text COLLATE "C",
  created_at timestamptz NOT NULL,
  PRIMARY KEY (id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sutra_outbox_due ON sutra_outbox (next_attempt_at, id) WHERE poisoned = 0;
CREATE INDEX sutra_outbox_gate ON sutra_outbox (deployment) WHERE poisoned = 0;
CREATE INDEX sutra_outbox_list ON sutra_outbox (tenant, id, poisoned);
CREATE INDEX sutra_outbox_poisoned ON sutra_outbox (id) WHERE poisoned = 1;
ALTER TABLE sutra_outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_outbox USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_task (
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  instance uuid NOT NULL,
  wait_id bigint NOT NULL,
  deployment text COLLATE "C" NOT NULL,
  process text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  inputs bytea,
  headers bytea,
  retries bigint NOT NULL,
  unlocked bigint NOT NULL,
  lock_owner text COLLATE "C",
  lock_epoch bigint NOT NULL,
  lock_until timestamptz NOT NULL,
  terminal bigint NOT NULL,
  last_error text COLLATE "C",
  created_at timestamptz NOT NULL,
  PRIMARY KEY (id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sutra_task_fetch ON sutra_task (topic, lock_until, id) WHERE terminal = 0;
CREATE INDEX sutra_task_own ON sutra_task (tenant, topic, lock_until, id) WHERE terminal = 0;
CREATE INDEX sutra_task_gate ON sutra_task (deployment) WHERE terminal = 0;
CREATE INDEX sutra_task_instance ON sutra_task (instance);
CREATE INDEX sutra_task_list ON sutra_task (tenant, id, terminal);
CREATE INDEX sutra_task_terminal ON sutra_task (id) WHERE terminal = 1;
ALTER TABLE sutra_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_task USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_schedule (
  deployment text COLLATE "C" NOT NULL,
  process text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  next_due_at timestamptz NOT NULL,
  anchor_at timestamptz NOT NULL,
  fires_left bigint NOT NULL,
  PRIMARY KEY (deployment, process, node)
);
CREATE INDEX sutra_schedule_due ON sutra_schedule (next_due_at);
ALTER TABLE sutra_schedule ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_schedule FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_schedule USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_history (
  instance uuid NOT NULL,
  seq bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  step uuid NOT NULL,
  document bytea NOT NULL,
  PRIMARY KEY (instance, seq)
);
ALTER TABLE sutra_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_history FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_history USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_deployment (
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  module text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  phase text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  operation uuid,
  activated_at timestamptz NOT NULL,
  drained_at timestamptz,
  retired_at timestamptz,
  since bigint NOT NULL,
  dropped bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_deployment_phase ON sutra_deployment (phase, retired_at);
CREATE UNIQUE INDEX sutra_deployment_active ON sutra_deployment (tenant, module, version) WHERE phase = 'active';
CREATE UNIQUE INDEX sutra_deployment_number ON sutra_deployment (tenant, module, version, number);
ALTER TABLE sutra_deployment ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_deployment FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_deployment USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_archive (
  owner text COLLATE "C" NOT NULL,
  chunk bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (owner, chunk)
);
ALTER TABLE sutra_archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_archive FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_archive USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_door (
  door_key bytea NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  deployment text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  channel_key bytea NOT NULL,
  PRIMARY KEY (door_key)
);
CREATE INDEX sutra_door_deployment ON sutra_door (deployment);
CREATE UNIQUE INDEX sutra_door_channel ON sutra_door (channel_key);
ALTER TABLE sutra_door ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_door FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_door USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_operation (
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  revision text COLLATE "C" NOT NULL,
  fault_code text COLLATE "C",
  fault_detail text COLLATE "C",
  fault_node text COLLATE "C",
  callback text COLLATE "C" NOT NULL,
  notify text COLLATE "C" NOT NULL,
  options bytea,
  owner text COLLATE "C" NOT NULL,
  touched_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_operation_open ON sutra_operation (touched_at) WHERE state = 'pending';
ALTER TABLE sutra_operation ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_operation FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_operation USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');

CREATE TABLE sutra_lease (
  role text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  term bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (role)
);

CREATE TABLE sutra_version (
  id bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE sutra_replica (
  id text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  served bigint NOT NULL,
  broken text COLLATE "C" NOT NULL,
  lanes bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  PRIMARY KEY (id)
);

INSERT INTO sutra_version (id, version) VALUES (1, 1);
