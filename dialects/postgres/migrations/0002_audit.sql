CREATE TABLE sutra_audit (
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  actor text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  instance uuid,
  subject text COLLATE "C" NOT NULL,
  detail bytea,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_audit_list ON sutra_audit (tenant, id);
CREATE INDEX sutra_audit_instance ON sutra_audit (instance, id) WHERE instance IS NOT NULL;
ALTER TABLE sutra_audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE sutra_audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sutra_audit USING (tenant = current_setting('sutra.tenant', true) OR current_setting('sutra.tenant', true) = '*');
