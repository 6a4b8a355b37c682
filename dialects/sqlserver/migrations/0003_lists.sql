CREATE INDEX sutra_instance_process_ended ON sutra_instance (tenant, process, id) WHERE ended_at IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE INDEX sutra_instance_revision_ended ON sutra_instance (deployment, id) WHERE ended_at IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);
