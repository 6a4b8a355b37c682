-- A user that may count what is due, and read and write nothing else. Run it in the engine's database, as an administrator.
CREATE USER sutra_scaler@'%' IDENTIFIED BY 'change-me';
GRANT SELECT (state, next_attempt_at) ON sutra_inbox TO sutra_scaler@'%';
GRANT SELECT (poisoned, next_attempt_at) ON sutra_outbox TO sutra_scaler@'%';
GRANT SELECT (attempt_at) ON sutra_wait TO sutra_scaler@'%';
GRANT SELECT (terminal, lock_until, topic) ON sutra_task TO sutra_scaler@'%';
