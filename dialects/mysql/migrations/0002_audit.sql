CREATE TABLE IF NOT EXISTS sutra_audit (
  id BINARY(16) NOT NULL,
  tenant VARBINARY(255) NOT NULL,
  at DATETIME(6) NOT NULL,
  actor VARBINARY(255) NOT NULL,
  action VARBINARY(255) NOT NULL,
  instance BINARY(16) NULL,
  subject VARBINARY(255) NOT NULL,
  detail LONGBLOB NULL,
  PRIMARY KEY (id),
  INDEX sutra_audit_list (tenant, id),
  INDEX sutra_audit_instance (instance, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
