package fault

// The codes of models and of what instances meet while they run.
const (
	ModelXMLInvalid          Code = "SUTRA.MODEL.XML.INVALID"
	ModelXMLDTD              Code = "SUTRA.MODEL.XML.DTD"
	ModelXMLLimit            Code = "SUTRA.MODEL.XML.LIMIT"
	ModelXMLEncoding         Code = "SUTRA.MODEL.XML.ENCODING"
	ModelNoProcess           Code = "SUTRA.MODEL.PROCESS.NONE"
	ModelElement             Code = "SUTRA.MODEL.ELEMENT.UNSUPPORTED"
	ModelAttribute           Code = "SUTRA.MODEL.ATTRIBUTE.UNSUPPORTED"
	ModelLanguage            Code = "SUTRA.MODEL.EXPRESSION.LANGUAGE"
	ModelExpression          Code = "SUTRA.MODEL.EXPRESSION.INVALID"
	ModelEventMisplaced      Code = "SUTRA.MODEL.EVENT.MISPLACED"
	ModelFlow                Code = "SUTRA.MODEL.FLOW.INVALID"
	ModelLinkUnknown         Code = "SUTRA.MODEL.LINK.UNKNOWN"
	ModelCompensationUnknown Code = "SUTRA.MODEL.COMPENSATION.UNKNOWN"
	ModelCallUnknown         Code = "SUTRA.MODEL.CALL.UNKNOWN"
	ModelDecisionUnknown     Code = "SUTRA.MODEL.DECISION.UNKNOWN"
	ModelChannelUnknown      Code = "SUTRA.MODEL.CHANNEL.UNKNOWN"
	ModelChannelUse          Code = "SUTRA.MODEL.CHANNEL.USE_UNSUPPORTED"
	ModelTemplateUnknown     Code = "SUTRA.MODEL.TEMPLATE.UNKNOWN"
	ModelTopicUnknown        Code = "SUTRA.MODEL.TOPIC.UNKNOWN"
	ModelCatchDuplicate      Code = "SUTRA.MODEL.CATCH.DUPLICATE"
	ModelIDDuplicate         Code = "SUTRA.MODEL.ID.DUPLICATE"
	ModelLoopEndless         Code = "SUTRA.MODEL.LOOP.ENDLESS"
	ModelNameReserved        Code = "SUTRA.MODEL.NAME.RESERVED"
	SnapshotFormatUnknown    Code = "SUTRA.SNAPSHOT.FORMAT.UNKNOWN"
	SnapshotInvalid          Code = "SUTRA.SNAPSHOT.DATA.INVALID"
	SnapshotLimit            Code = "SUTRA.RUNTIME.SNAPSHOT.LIMIT"
	TokenLimit               Code = "SUTRA.RUNTIME.TOKEN.LIMIT"
	ScopeLimit               Code = "SUTRA.RUNTIME.SCOPE.LIMIT"
	CallLimit                Code = "SUTRA.RUNTIME.CALL.LIMIT"
	StepLimit                Code = "SUTRA.RUNTIME.STEP.LIMIT"
	IterationLimit           Code = "SUTRA.RUNTIME.LOOP.LIMIT"
	GatewayNoFlow            Code = "SUTRA.RUNTIME.GATEWAY.NO_FLOW"
	JoinDeadlock             Code = "SUTRA.RUNTIME.JOIN.DEADLOCK"
	ExpressionNotBoolean     Code = "SUTRA.RUNTIME.EXPRESSION.NOT_BOOLEAN"
	ExpressionFailed         Code = "SUTRA.RUNTIME.EXPRESSION.FAILED"
	ValueNotStorable         Code = "SUTRA.RUNTIME.VALUE.NOT_STORABLE"
	CollectionInvalid        Code = "SUTRA.RUNTIME.LOOP.COLLECTION_INVALID"
	TimerInvalid             Code = "SUTRA.RUNTIME.TIMER.INVALID"
	KeyMissing               Code = "SUTRA.RUNTIME.MESSAGE.KEY_MISSING"
	CallTargetUnknown        Code = "SUTRA.RUNTIME.CALL.UNKNOWN"
	TemplateFailed           Code = "SUTRA.RUNTIME.TEMPLATE.FAILED"
	DecisionFailed           Code = "SUTRA.RUNTIME.DECISION.FAILED"
	ErrorUncaught            Code = "SUTRA.RUNTIME.ERROR.UNCAUGHT"
	NodeUnknown              Code = "SUTRA.RUNTIME.NODE.UNKNOWN"
	EventInvalid             Code = "SUTRA.RUNTIME.EVENT.INVALID"
	DispatchNoMatch          Code = "SUTRA.DISPATCH.NO_MATCH"
	CallTimeout              Code = "SUTRA.CALL.TIMEOUT"
	CallRejected             Code = "SUTRA.CALL.REJECTED"
	CallExhausted            Code = "SUTRA.CALL.EXHAUSTED"
	CancelHasParent          Code = "SUTRA.ADMIN.CANCEL.HAS_PARENT"
)

var modelTable = []Entry{
	{ModelXMLInvalid, Reject, 422},
	{ModelXMLDTD, Reject, 422},
	{ModelXMLLimit, Reject, 422},
	{ModelXMLEncoding, Reject, 422},
	{ModelNoProcess, Reject, 422},
	{ModelElement, Reject, 422},
	{ModelAttribute, Reject, 422},
	{ModelLanguage, Reject, 422},
	{ModelExpression, Reject, 422},
	{ModelEventMisplaced, Reject, 422},
	{ModelFlow, Reject, 422},
	{ModelLinkUnknown, Reject, 422},
	{ModelCompensationUnknown, Reject, 422},
	{ModelCallUnknown, Reject, 422},
	{ModelDecisionUnknown, Reject, 422},
	{ModelChannelUnknown, Reject, 422},
	{ModelChannelUse, Reject, 422},
	{ModelTemplateUnknown, Reject, 422},
	{ModelTopicUnknown, Reject, 422},
	{ModelCatchDuplicate, Reject, 422},
	{ModelIDDuplicate, Reject, 422},
	{ModelLoopEndless, Reject, 422},
	{ModelNameReserved, Reject, 422},
	{SnapshotFormatUnknown, Redeliver, 503},
	{SnapshotInvalid, Operator, 500},
	{SnapshotLimit, Operator, 500},
	{TokenLimit, Operator, 500},
	{ScopeLimit, Operator, 500},
	{CallLimit, Operator, 500},
	{StepLimit, Operator, 500},
	{IterationLimit, Operator, 500},
	{GatewayNoFlow, Operator, 500},
	{JoinDeadlock, Operator, 500},
	{ExpressionNotBoolean, Operator, 500},
	{ExpressionFailed, Operator, 500},
	{ValueNotStorable, Operator, 500},
	{CollectionInvalid, Operator, 500},
	{TimerInvalid, Operator, 500},
	{KeyMissing, Operator, 500},
	{CallTargetUnknown, Operator, 500},
	{TemplateFailed, Operator, 500},
	{DecisionFailed, Operator, 500},
	{ErrorUncaught, Operator, 500},
	{NodeUnknown, Operator, 500},
	{EventInvalid, Reject, 422},
	{DispatchNoMatch, Operator, 500},
	{CallTimeout, Operator, 500},
	{CallRejected, Operator, 500},
	{CallExhausted, Operator, 500},
	{CancelHasParent, Reject, 409},
}
