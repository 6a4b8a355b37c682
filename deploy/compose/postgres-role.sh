#!/bin/sh
# The image's own user is a superuser, and row security does not hold for superusers: the engine gets a role of its own.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$SUTRA_DB_PASSWORD" -U "$POSTGRES_USER" <<'SQL'
CREATE ROLE sutra LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE sutra OWNER sutra ENCODING 'UTF8' TEMPLATE template0;
SQL
