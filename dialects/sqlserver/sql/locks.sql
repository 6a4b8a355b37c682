-- name: deployment_share
-- A row's lock is that of the index a plan reads it by, and an update lock lets sharers past. This lock is neither, and it is fair.
DECLARE @lock NVARCHAR(255) = N'', @had INT
WHILE 1 = 1
BEGIN
SELECT @lock = MIN(l.name) FROM (SELECT N'deployment/' + r.deployment AS name FROM :rows AS r) AS l WHERE l.name > @lock
IF @lock IS NULL BREAK
EXEC @had = sp_getapplock @Resource = @lock, @LockMode = 'Shared'
IF @had < 0 THROW 51205, N'the lock was not granted', 1
END

-- name: deployment_lock
-- As deployment_share, alone.
DECLARE @lock NVARCHAR(255) = N'', @had INT
WHILE 1 = 1
BEGIN
SELECT @lock = MIN(l.name) FROM (SELECT N'deployment/' + r.deployment AS name FROM :rows AS r) AS l WHERE l.name > @lock
IF @lock IS NULL BREAK
EXEC @had = sp_getapplock @Resource = @lock, @LockMode = 'Exclusive'
IF @had < 0 THROW 51205, N'the lock was not granted', 1
END

-- name: lease_share
-- As deployment_share: the holder's own steps must not starve its renewal.
DECLARE @lock NVARCHAR(255) = N'', @had INT
WHILE 1 = 1
BEGIN
SELECT @lock = MIN(l.name) FROM (SELECT N'lease/' + r.role AS name FROM :rows AS r) AS l WHERE l.name > @lock
IF @lock IS NULL BREAK
EXEC @had = sp_getapplock @Resource = @lock, @LockMode = 'Shared'
IF @had < 0 THROW 51205, N'the lock was not granted', 1
END

-- name: lease_lock
-- As lease_share, alone: a role that is not there yet is locked too.
DECLARE @lock NVARCHAR(255) = N'', @had INT
WHILE 1 = 1
BEGIN
SELECT @lock = MIN(l.name) FROM (SELECT N'lease/' + r.role AS name FROM :rows AS r) AS l WHERE l.name > @lock
IF @lock IS NULL BREAK
EXEC @had = sp_getapplock @Resource = @lock, @LockMode = 'Exclusive'
IF @had < 0 THROW 51205, N'the lock was not granted', 1
END
