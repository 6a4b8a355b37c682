package fault

// Entry is a code's line in the table.
type Entry struct {
	Code        Code
	Disposition Disposition
	Status      int // HTTP
}

// The codes, by area.
const (
	Internal Code = "SUTRA.INTERNAL.ENGINE.UNEXPECTED"

	StoreUnavailable Code = "SUTRA.STORE.ACCESS.UNAVAILABLE"
	StoreUncertain   Code = "SUTRA.STORE.COMMIT.UNCERTAIN"
	StoreReadOnly    Code = "SUTRA.STORE.ACCESS.READ_ONLY"
	StoreTooLarge    Code = "SUTRA.STORE.WRITE.TOO_LARGE"
	StoreRefused     Code = "SUTRA.STORE.WRITE.REFUSED"
	StoreLocked      Code = "SUTRA.STORE.ACCESS.LOCKED"
	StoreDenied      Code = "SUTRA.STORE.ACCESS.DENIED"
	SchemaVersion    Code = "SUTRA.STORE.SCHEMA.VERSION"
	SettingRefused   Code = "SUTRA.STORE.SETTING.REFUSED"

	PropertyInvalid Code = "SUTRA.CONFIG.PROPERTY.INVALID"

	ClaimHeld        Code = "SUTRA.RUNTIME.RESUME.CLAIM_HELD"
	ClaimLost        Code = "SUTRA.RUNTIME.COMMIT.CLAIM_LOST"
	InstanceFailed   Code = "SUTRA.RUNTIME.RESUME.INSTANCE_FAILED"
	InstanceEnded    Code = "SUTRA.RUNTIME.RESUME.TERMINAL"
	InstanceGone     Code = "SUTRA.RUNTIME.INSTANCE.UNKNOWN"
	StartFailed      Code = "SUTRA.RUNTIME.START.FAILED"
	NotActive        Code = "SUTRA.RUNTIME.START.NOT_ACTIVE"
	TooManyInstances Code = "SUTRA.RUNTIME.START.TOO_MANY_INSTANCES"
	TooManyStarts    Code = "SUTRA.RUNTIME.START.RATE_EXCEEDED"
	AliasTaken       Code = "SUTRA.RUNTIME.ALIAS.TAKEN"
	Busy             Code = "SUTRA.RUNTIME.LANE.BUSY"
	ShuttingDown     Code = "SUTRA.RUNTIME.REPLICA.SHUTTING_DOWN"
	StepPanicked     Code = "SUTRA.RUNTIME.STEP.PANICKED"
	NotReady         Code = "SUTRA.RUNTIME.REPLICA.NOT_READY"
	TermPassed       Code = "SUTRA.RUNTIME.SINGLETON.TERM_PASSED"

	ChannelUnknown  Code = "SUTRA.INTAKE.CHANNEL.UNKNOWN"
	BodyTooLarge    Code = "SUTRA.INTAKE.BODY.TOO_LARGE"
	BodyUndecodable Code = "SUTRA.INTAKE.BODY.UNDECODABLE"
	ContentType     Code = "SUTRA.INTAKE.CONTENT_TYPE.UNSUPPORTED"
	SchemaViolated  Code = "SUTRA.INTAKE.SCHEMA.VIOLATED"
	EventIDMissing  Code = "SUTRA.INTAKE.EVENT_ID.MISSING"
	RequestInvalid  Code = "SUTRA.INTAKE.REQUEST.INVALID"
	Unauthorized    Code = "SUTRA.INTAKE.AUTH.UNAUTHORIZED"
	Forbidden       Code = "SUTRA.INTAKE.AUTH.FORBIDDEN"

	SendFailed  Code = "SUTRA.DELIVER.SEND.FAILED"
	SendRefused Code = "SUTRA.DELIVER.SEND.REFUSED"
	SecretUnset Code = "SUTRA.CONFIG.SECRET.UNSET"

	TaskUnknown  Code = "SUTRA.TASK.TASK.UNKNOWN"
	TaskLockLost Code = "SUTRA.TASK.LOCK.LOST"
	TaskLockHeld Code = "SUTRA.TASK.LOCK.HELD"
	TaskTerminal Code = "SUTRA.TASK.TASK.TERMINAL"
	TaskCeiling  Code = "SUTRA.TASK.REQUEST.CEILING"

	NoMatch            Code = "SUTRA.CORRELATE.NO_MATCH"
	Ambiguous          Code = "SUTRA.CORRELATE.AMBIGUOUS"
	CorrelationExpired Code = "SUTRA.CORRELATE.EXPIRED"
	NoProcess          Code = "SUTRA.CORRELATE.NO_PROCESS"

	ArchiveNotZip      Code = "SUTRA.DEPLOY.ARCHIVE.NOT_A_ZIP"
	ArchiveTooLarge    Code = "SUTRA.DEPLOY.ARCHIVE.TOO_LARGE"
	ArchiveEntries     Code = "SUTRA.DEPLOY.ARCHIVE.TOO_MANY_ENTRIES"
	ArchivePath        Code = "SUTRA.DEPLOY.ARCHIVE.PATH_INVALID"
	ArchiveEntryType   Code = "SUTRA.DEPLOY.ARCHIVE.ENTRY_TYPE"
	ArchiveDuplicate   Code = "SUTRA.DEPLOY.ARCHIVE.DUPLICATE_ENTRY"
	ArchiveNested      Code = "SUTRA.DEPLOY.ARCHIVE.NESTED"
	ArchiveManifest    Code = "SUTRA.DEPLOY.ARCHIVE.MANIFEST_INVALID"
	ArchiveContract    Code = "SUTRA.DEPLOY.ARCHIVE.CONTRACT_UNSUPPORTED"
	ArchiveUnlisted    Code = "SUTRA.DEPLOY.ARCHIVE.UNLISTED_FILE"
	ArchiveMissing     Code = "SUTRA.DEPLOY.ARCHIVE.MISSING_FILE"
	ArchiveDigest      Code = "SUTRA.DEPLOY.ARCHIVE.DIGEST_MISMATCH"
	PackageInvalid     Code = "SUTRA.DEPLOY.PACKAGE.INVALID"
	PackageLabel       Code = "SUTRA.DEPLOY.PACKAGE.LABEL_INVALID"
	PackageUnexpected  Code = "SUTRA.DEPLOY.PACKAGE.UNEXPECTED_FILE"
	ChannelInvalid     Code = "SUTRA.DEPLOY.CHANNEL.INVALID"
	ChannelTwice       Code = "SUTRA.DEPLOY.CHANNEL.DUPLICATE"
	ChannelUnsupported Code = "SUTRA.DEPLOY.CHANNEL.SETTING_UNSUPPORTED"
	CallbackInvalid    Code = "SUTRA.DEPLOY.CALLBACK.INVALID"
	NotifyUnsupported  Code = "SUTRA.DEPLOY.NOTIFY.UNSUPPORTED"
	SecretLiteral      Code = "SUTRA.DEPLOY.CHANNEL.SECRET_LITERAL"
	SchemaInvalid      Code = "SUTRA.DEPLOY.SCHEMA.INVALID"
	TemplateInvalid    Code = "SUTRA.DEPLOY.TEMPLATE.INVALID"
	PatternInvalid     Code = "SUTRA.MODEL.PATTERN.INVALID"
	ProcessTwice       Code = "SUTRA.MODEL.PROCESS.DUPLICATE"
	DeployInvalid      Code = "SUTRA.DEPLOY.PACKAGE.REFUSED"
	DoorTaken          Code = "SUTRA.DEPLOY.DOOR.TAKEN"
	DeploySuperseded   Code = "SUTRA.DEPLOY.SLOT.SUPERSEDED"
	DeployConflict     Code = "SUTRA.DEPLOY.SLOT.CONFLICT"
	DeploymentUnknown  Code = "SUTRA.DEPLOY.DEPLOYMENT.UNKNOWN"
	DeployForbidden    Code = "SUTRA.DEPLOY.TENANT.FORBIDDEN"
	OperationUnknown   Code = "SUTRA.DEPLOY.OPERATION.UNKNOWN"

	DecisionNone      Code = "SUTRA.MODEL.DECISION.NONE"
	DecisionInvalid   Code = "SUTRA.MODEL.DECISION.INVALID"
	DecisionType      Code = "SUTRA.MODEL.DECISION.TYPE_UNKNOWN"
	DecisionHitPolicy Code = "SUTRA.RUNTIME.DECISION.HIT_POLICY"

	AdminClaimHeld  Code = "SUTRA.ADMIN.MIGRATE.CLAIM_HELD"
	MigrateRefused  Code = "SUTRA.ADMIN.MIGRATE.REFUSED"
	MigrateTarget   Code = "SUTRA.ADMIN.MIGRATE.TARGET_UNKNOWN"
	MigrateInactive Code = "SUTRA.ADMIN.MIGRATE.NOT_ACTIVE"
	MigrateProcess  Code = "SUTRA.ADMIN.MIGRATE.PROCESS_UNKNOWN"
	MigrateMapping  Code = "SUTRA.ADMIN.MIGRATE.MAPPING_INVALID"
	MigrateNode     Code = "SUTRA.ADMIN.MIGRATE.NODE_UNKNOWN"
	MigrateScope    Code = "SUTRA.ADMIN.MIGRATE.SCOPE_CHANGED"
	MigrateKind     Code = "SUTRA.ADMIN.MIGRATE.KIND_CHANGED"
	MigrateAlias    Code = "SUTRA.ADMIN.MIGRATE.ALIAS_TAKEN"
	MigrateLocked   Code = "SUTRA.ADMIN.MIGRATE.TASK_LOCKED"
	MigrateRetry    Code = "SUTRA.ADMIN.MIGRATE.RETRY_LOST"
	MigrateGroup    Code = "SUTRA.ADMIN.MIGRATE.GROUP_CHANGED"
	MigrateFlow     Code = "SUTRA.ADMIN.MIGRATE.FLOW_UNMAPPED"
	MigrateUndo     Code = "SUTRA.ADMIN.MIGRATE.COMPENSATION_LOST"
	MigrateUndoing  Code = "SUTRA.ADMIN.MIGRATE.COMPENSATION_RUNNING"
	MigrateEvent    Code = "SUTRA.ADMIN.MIGRATE.EVENT_UNMAPPED"
	MigrateStuck    Code = "SUTRA.ADMIN.MIGRATE.STUCK"
	MigrateCompute  Code = "SUTRA.ADMIN.MIGRATE.COMPUTE_FAILED"
	MigrateStarting Code = "SUTRA.ADMIN.MIGRATE.CHILD_STARTING"
	MigrateEnding   Code = "SUTRA.ADMIN.MIGRATE.TASK_COMPLETING"
	InvariantBroken Code = "SUTRA.ADMIN.VERIFY.BROKEN"
	EmissionUnknown Code = "SUTRA.ADMIN.REDRIVE.UNKNOWN"
	ArchiveDropped  Code = "SUTRA.ADMIN.REDRIVE.ARCHIVE_DROPPED"
	NotFailed       Code = "SUTRA.ADMIN.RESUME.NOT_FAILED"
	ResumeStuck     Code = "SUTRA.ADMIN.RESUME.STUCK"
	NothingToRetry  Code = "SUTRA.ADMIN.RETRY.NOTHING"
	AdminClosed     Code = "SUTRA.ADMIN.AUTH.NOT_CONFIGURED"
	AdminUnknown    Code = "SUTRA.ADMIN.AUTH.UNAUTHORIZED"
	AdminForbidden  Code = "SUTRA.ADMIN.AUTH.FORBIDDEN"
	KeysUnavailable Code = "SUTRA.AUTH.KEYS.UNAVAILABLE"

	RouteUnknown Code = "SUTRA.HTTP.ROUTE.UNKNOWN"
	MethodWrong  Code = "SUTRA.HTTP.METHOD.NOT_ALLOWED"
)

// Table declares each code once. It is an API: a golden file holds it.
func Table() []Entry { return append([]Entry(nil), table...) }

var table = append([]Entry{
	{Internal, Bug, 500},
	{StoreUnavailable, Redeliver, 503},
	{StoreUncertain, Uncertain, 503},
	{StoreReadOnly, Redeliver, 503},
	{StoreTooLarge, Reject, 413},
	{StoreRefused, Bug, 500},
	{StoreLocked, Operator, 503},
	{StoreDenied, Operator, 503},
	{SchemaVersion, Operator, 503},
	{SettingRefused, Operator, 503},
	{PropertyInvalid, Operator, 500},
	{ClaimHeld, Redeliver, 409},
	{ClaimLost, Redeliver, 409},
	{InstanceFailed, Operator, 409},
	{InstanceEnded, Reject, 409},
	{InstanceGone, Reject, 404},
	{StartFailed, Operator, 500},
	{NotActive, Redeliver, 409},
	{TooManyInstances, Redeliver, 429},
	{TooManyStarts, Redeliver, 429},
	{AliasTaken, Reject, 409},
	{Busy, Redeliver, 429},
	{ShuttingDown, Redeliver, 503},
	{StepPanicked, Bug, 500},
	{NotReady, Redeliver, 503},
	{TermPassed, Redeliver, 409},
	{ChannelUnknown, Reject, 404},
	{BodyTooLarge, Reject, 413},
	{BodyUndecodable, Reject, 400},
	{ContentType, Reject, 415},
	{SchemaViolated, Reject, 422},
	{EventIDMissing, Reject, 400},
	{RequestInvalid, Reject, 400},
	{Unauthorized, Reject, 401},
	{Forbidden, Reject, 403},
	{SendFailed, Redeliver, 502},
	{SendRefused, Reject, 502},
	{SecretUnset, Operator, 503},
	{TaskUnknown, Reject, 404},
	{TaskLockLost, Reject, 409},
	{TaskLockHeld, Redeliver, 409},
	{TaskTerminal, Reject, 409},
	{TaskCeiling, Reject, 400},
	{NoMatch, Reject, 404},
	{Ambiguous, Reject, 409},
	{CorrelationExpired, Reject, 404},
	{NoProcess, Reject, 404},
	{ArchiveNotZip, Reject, 400},
	{ArchiveTooLarge, Reject, 413},
	{ArchiveEntries, Reject, 413},
	{ArchivePath, Reject, 422},
	{ArchiveEntryType, Reject, 422},
	{ArchiveDuplicate, Reject, 422},
	{ArchiveNested, Reject, 422},
	{ArchiveManifest, Reject, 422},
	{ArchiveContract, Reject, 422},
	{ArchiveUnlisted, Reject, 422},
	{ArchiveMissing, Reject, 422},
	{ArchiveDigest, Reject, 422},
	{PackageInvalid, Reject, 422},
	{PackageLabel, Reject, 422},
	{PackageUnexpected, Reject, 422},
	{ChannelInvalid, Reject, 422},
	{ChannelTwice, Reject, 422},
	{ChannelUnsupported, Reject, 422},
	{CallbackInvalid, Reject, 400},
	{NotifyUnsupported, Reject, 400},
	{SecretLiteral, Reject, 422},
	{SchemaInvalid, Reject, 422},
	{TemplateInvalid, Reject, 422},
	{PatternInvalid, Reject, 422},
	{ProcessTwice, Reject, 422},
	{DeployInvalid, Reject, 422},
	{DoorTaken, Reject, 409},
	{DeploySuperseded, Reject, 409},
	{DeployConflict, Redeliver, 409},
	{DeploymentUnknown, Reject, 404},
	{DeployForbidden, Reject, 403},
	{OperationUnknown, Reject, 404},
	{DecisionNone, Reject, 422},
	{DecisionInvalid, Reject, 422},
	{DecisionType, Reject, 422},
	{DecisionHitPolicy, Operator, 500},
	{AdminClaimHeld, Redeliver, 409},
	{MigrateRefused, Reject, 422},
	{MigrateTarget, Reject, 404},
	{MigrateInactive, Reject, 409},
	{MigrateProcess, Reject, 422},
	{MigrateMapping, Reject, 422},
	{MigrateNode, Reject, 422},
	{MigrateScope, Reject, 422},
	{MigrateKind, Reject, 422},
	{MigrateAlias, Reject, 422},
	{MigrateLocked, Reject, 422},
	{MigrateRetry, Reject, 422},
	{MigrateGroup, Reject, 422},
	{MigrateFlow, Reject, 422},
	{MigrateUndo, Reject, 422},
	{MigrateUndoing, Reject, 422},
	{MigrateEvent, Reject, 422},
	{MigrateStuck, Reject, 422},
	{MigrateCompute, Reject, 422},
	{MigrateStarting, Redeliver, 409},
	{MigrateEnding, Redeliver, 409},
	{InvariantBroken, Bug, 500},
	{EmissionUnknown, Reject, 404},
	{ArchiveDropped, Reject, 409},
	{NotFailed, Reject, 409},
	{ResumeStuck, Reject, 422},
	{NothingToRetry, Reject, 409},
	{AdminClosed, Operator, 503},
	{AdminUnknown, Reject, 401},
	{AdminForbidden, Reject, 403},
	{KeysUnavailable, Redeliver, 503},
	{RouteUnknown, Reject, 404},
	{MethodWrong, Reject, 405},
}, modelTable...)

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(table))
	for _, e := range table {
		m[e.Code] = e
	}
	return m
}()
