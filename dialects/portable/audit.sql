-- name: audit_insert
-- rows: id uuid, actor text, action text, instance uuid, subject text, detail bytes
INSERT INTO sutra_audit (id, tenant, at, actor, action, instance, subject, detail)
SELECT r.id, :tenant, :now, r.actor, r.action, r.instance, r.subject, r.detail
FROM :rows AS r

-- name: audit_list
-- scope: fleet
SELECT a.id, a.tenant, a.at, a.actor, a.action, a.instance, a.subject, a.detail
FROM sutra_audit AS a
WHERE 1 = 1
AND a.tenant = :tenant?
AND a.id < :after?
AND a.instance = :instance?
AND a.actor = :actor?
AND a.action = :action?
AND a.at >= :since?
AND a.at < :until?
ORDER BY a.id DESC
:page
