CREATE TABLE sutra_audit (
  id BLOB NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  instance BLOB,
  subject TEXT NOT NULL,
  detail BLOB,
  PRIMARY KEY (id)
);
CREATE INDEX sutra_audit_list ON sutra_audit (tenant, id);
CREATE INDEX sutra_audit_instance ON sutra_audit (instance, id) WHERE instance IS NOT NULL;
