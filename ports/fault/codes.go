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
	SchemaVersion    Code = "SUTRA.STORE.SCHEMA.VERSION"
	SettingRefused   Code = "SUTRA.STORE.SETTING.REFUSED"

	PropertyInvalid Code = "SUTRA.CONFIG.PROPERTY.INVALID"

	ClaimHeld      Code = "SUTRA.RUNTIME.RESUME.CLAIM_HELD"
	ClaimLost      Code = "SUTRA.RUNTIME.COMMIT.CLAIM_LOST"
	InstanceFailed Code = "SUTRA.RUNTIME.RESUME.INSTANCE_FAILED"
	InstanceEnded  Code = "SUTRA.RUNTIME.RESUME.TERMINAL"
	InstanceGone   Code = "SUTRA.RUNTIME.INSTANCE.UNKNOWN"
	StartFailed    Code = "SUTRA.RUNTIME.START.FAILED"
	NotActive      Code = "SUTRA.RUNTIME.START.NOT_ACTIVE"
	AliasTaken     Code = "SUTRA.RUNTIME.ALIAS.TAKEN"
	Busy           Code = "SUTRA.RUNTIME.LANE.BUSY"
	ShuttingDown   Code = "SUTRA.RUNTIME.REPLICA.SHUTTING_DOWN"
	NotReady       Code = "SUTRA.RUNTIME.REPLICA.NOT_READY"

	ChannelUnknown  Code = "SUTRA.INTAKE.CHANNEL.UNKNOWN"
	BodyTooLarge    Code = "SUTRA.INTAKE.BODY.TOO_LARGE"
	BodyUndecodable Code = "SUTRA.INTAKE.BODY.UNDECODABLE"
	ContentType     Code = "SUTRA.INTAKE.CONTENT_TYPE.UNSUPPORTED"
	SchemaViolated  Code = "SUTRA.INTAKE.SCHEMA.VIOLATED"
	EventIDMissing  Code = "SUTRA.INTAKE.EVENT_ID.MISSING"
	RequestInvalid  Code = "SUTRA.INTAKE.REQUEST.INVALID"
	Unauthorized    Code = "SUTRA.INTAKE.AUTH.UNAUTHORIZED"

	NoMatch            Code = "SUTRA.CORRELATE.NO_MATCH"
	Ambiguous          Code = "SUTRA.CORRELATE.AMBIGUOUS"
	CorrelationExpired Code = "SUTRA.CORRELATE.EXPIRED"
	NoProcess          Code = "SUTRA.CORRELATE.NO_PROCESS"

	AdminClosed    Code = "SUTRA.ADMIN.AUTH.NOT_CONFIGURED"
	AdminUnknown   Code = "SUTRA.ADMIN.AUTH.UNAUTHORIZED"
	AdminForbidden Code = "SUTRA.ADMIN.AUTH.FORBIDDEN"

	RouteUnknown Code = "SUTRA.HTTP.ROUTE.UNKNOWN"
	MethodWrong  Code = "SUTRA.HTTP.METHOD.NOT_ALLOWED"
)

// Table declares each code once. It is an API: a golden file holds it.
func Table() []Entry { return append([]Entry(nil), table...) }

var table = []Entry{
	{Internal, Bug, 500},
	{StoreUnavailable, Redeliver, 503},
	{StoreUncertain, Uncertain, 503},
	{StoreReadOnly, Redeliver, 503},
	{StoreTooLarge, Reject, 413},
	{StoreRefused, Bug, 500},
	{StoreLocked, Operator, 503},
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
	{AliasTaken, Reject, 409},
	{Busy, Redeliver, 429},
	{ShuttingDown, Redeliver, 503},
	{NotReady, Redeliver, 503},
	{ChannelUnknown, Reject, 404},
	{BodyTooLarge, Reject, 413},
	{BodyUndecodable, Reject, 400},
	{ContentType, Reject, 415},
	{SchemaViolated, Reject, 422},
	{EventIDMissing, Reject, 400},
	{RequestInvalid, Reject, 400},
	{Unauthorized, Reject, 401},
	{NoMatch, Reject, 404},
	{Ambiguous, Reject, 409},
	{CorrelationExpired, Reject, 404},
	{NoProcess, Reject, 404},
	{AdminClosed, Operator, 503},
	{AdminUnknown, Reject, 401},
	{AdminForbidden, Reject, 403},
	{RouteUnknown, Reject, 404},
	{MethodWrong, Reject, 405},
}

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(table))
	for _, e := range table {
		m[e.Code] = e
	}
	return m
}()
