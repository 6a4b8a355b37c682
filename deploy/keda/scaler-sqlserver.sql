-- A login that may count what is due, and read and write nothing else. Run it in the engine's database, as an administrator.
CREATE LOGIN sutra_scaler WITH PASSWORD = 'change-me-Aa1';
CREATE USER sutra_scaler FOR LOGIN sutra_scaler;
GRANT SELECT ON sutra_inbox (state, next_attempt_at) TO sutra_scaler;
GRANT SELECT ON sutra_outbox (poisoned, next_attempt_at) TO sutra_scaler;
GRANT SELECT ON sutra_wait (attempt_at) TO sutra_scaler;
GRANT SELECT ON sutra_task (terminal, lock_until, topic) TO sutra_scaler;
