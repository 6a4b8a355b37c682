-- Run by sqlcmd with $(password) set. Twice does no harm.
IF DB_ID('sutra') IS NULL CREATE DATABASE sutra;
GO
ALTER DATABASE sutra SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;
GO
IF SUSER_ID('sutra') IS NULL CREATE LOGIN sutra WITH PASSWORD = '$(password)';
GO
USE sutra;
IF USER_ID('sutra') IS NULL CREATE USER sutra FOR LOGIN sutra;
ALTER ROLE db_owner ADD MEMBER sutra;
GO
