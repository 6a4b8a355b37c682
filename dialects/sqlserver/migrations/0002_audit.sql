CREATE TABLE sutra_audit (
  id BINARY(16) NOT NULL,
  tenant NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  at DATETIME2(6) NOT NULL,
  actor NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  action NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  instance BINARY(16) NULL,
  subject NVARCHAR(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
  detail VARBINARY(MAX) NULL,
  CONSTRAINT sutra_audit_pk PRIMARY KEY CLUSTERED (id) WITH (ALLOW_PAGE_LOCKS = OFF)
);
CREATE INDEX sutra_audit_list ON sutra_audit (tenant, id) WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_audit_instance ON sutra_audit (instance, id) WHERE instance IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE sutra_audit SET (LOCK_ESCALATION = DISABLE);
