package bpmn

import (
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// documentary are BPMN elements that say nothing to the engine: accepted with all that is in them.
var documentary = map[string]bool{
	"documentation": true, "incoming": true, "outgoing": true, "laneSet": true, "ioSpecification": true, "property": true,
	"monitoring": true, "auditing": true, "textAnnotation": true, "association": true, "group": true, "category": true,
	"resourceRole": true, "performer": true, "humanPerformer": true, "potentialOwner": true, "dataObject": true,
	"dataObjectReference": true, "dataStoreReference": true, "supports": true, "rendering": true, "dataOutput": true,
	"dataInput": true, "outputSet": true, "inputSet": true, "sourceRef": true, "targetRef": true, "correlationSubscription": true,
	"supportedInterfaceRef": true, "ioBinding": true, "completionQuantity": true, "operationRef": true, "script": true,
	"loopDataInputRef": true, "loopDataOutputRef": true, "inputDataItem": true, "outputDataItem": true, "dataState": true,
	"categoryValueRef": true,
}

// attributes are those that the BPMN schema has, of any element: what else stands without a namespace is a slip of somebody's pen.
var attributes = words(`activityRef associationDirection attachedToRef behavior calledElement cancelActivity cancelRemainingInstances
	capacity categoryValueRef completionQuantity correlationKeyRef correlationPropertyRef dataObjectRef dataStoreRef default
	definitionalCollaborationRef errorCode errorRef escalationCode escalationRef evaluatesToTypeRef eventGatewayType gatewayDirection id
	implementation instantiate isClosed isCollection isExecutable isForCompensation isImmediate isInterrupting isSequential isUnlimited
	itemKind itemRef itemSubjectRef language loopMaximum messageRef method name noneBehaviorEventRef oneBehaviorEventRef operationRef ordering
	parallelMultiple parameterRef partitionElementRef processRef processType scriptFormat signalRef sourceRef startQuantity structureRef targetRef
	testBefore textFormat triggeredByEvent waitForCompletion`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// noted are extensions that tools write and that have no effect here: accepted with a note.
var noted = map[string]bool{
	"camunda:async": true, "camunda:asyncBefore": true, "camunda:asyncAfter": true, "camunda:exclusive": true, "camunda:historyTimeToLive": true,
	"camunda:versionTag": true, "camunda:isStartableInTasklist": true, "camunda:jobPriority": true, "camunda:taskPriority": true,
	"camunda:candidateStarterGroups": true, "camunda:candidateStarterUsers": true, "camunda:diagramRelationId": true,
	"camunda:modelerTemplate": true, "camunda:modelerTemplateVersion": true, "camunda:modelerTemplateIcon": true,
	"camunda:initiator": true, "camunda:properties": true, "camunda:formData": true, "camunda:formProperty": true,
	"camunda:decisionRefBinding": true, "camunda:calledElementBinding": true, "camunda:decisionRefVersion": true,
	"camunda:formRefBinding": true, "camunda:formRefVersion": true, "camunda:decisionRefVersionTag": true, "camunda:calledElementVersion": true,
	"camunda:calledElementVersionTag": true, "camunda:formFieldValidation": true, "camunda:localization": true, "camunda:category": true,
	"camunda:sameDeployment": true, "camunda:historyLevel": true, "camunda:work-form-field-validation": true, "camunda:task-candidates-type": true,
	"zeebe:properties": true, "zeebe:versionTag": true, "zeebe:modelerTemplate": true, "zeebe:modelerTemplateVersion": true,
	"zeebe:modelerTemplateIcon": true, "zeebe:userTaskForm": true, "zeebe:userTask": true,
}

// instead says what to write for an extension that is refused, where there is something better than leaving it out.
var instead = map[string]string{
	"camunda:class": "give the task a topic or a channel", "camunda:delegateExpression": "give the task a topic or a channel",
	"camunda:expression": "give the task a topic, or make it a FEEL script task", "camunda:connector": "give the task a topic or a channel",
	"camunda:executionListener": "draw a task for what it does", "camunda:taskListener": "draw a task for what it does",
	"zeebe:executionListeners": "draw a task for what it does", "zeebe:taskListeners": "draw a task for what it does",
	"camunda:failedJobRetryTimeCycle": "use q:retry",
	"camunda:field":                   "give the task headers, or input mappings",
}

// unreadRoots refuses what nobody asked for of messages, signals, errors and other things that processes refer to.
func (r *reader) unreadRoots(trees []*element) {
	for _, tree := range trees {
		for _, e := range tree.children {
			if e.space == bpmnSpace && e.used && e.name != "process" {
				r.unread(e)
			}
		}
	}
}

// unread refuses what nobody asked for below e: elements of BPMN, and elements and attributes of the extensions read here.
func (r *reader) unread(e *element) {
	r.unreadAttributes(e)
	for _, child := range e.children {
		switch {
		case child.space == bpmnSpace && child.name == "extensionElements":
			r.unreadExtensions(e, child)
		case prefix(child.space) != "":
			r.refuse(e, fault.ModelAttribute, "%s stands beside its extensionElements, where nothing reads it; put it inside", child.title())
		case child.space != bpmnSpace:
			r.passOver(e, child.space)
		case child.name == "dataStoreReference":
		case child.used:
			r.unread(child)
		case !documentary[child.name]:
			r.refuse(child, fault.ModelElement, "it is not executed here; draw it another way")
		}
	}
}

func (r *reader) unreadAttributes(e *element) {
	for i := range e.attrs {
		a := &e.attrs[i]
		name := prefix(a.space) + a.name
		switch {
		case a.used:
		case a.space == "" && !attributes[a.name]:
			r.warn(e, fault.ModelAttribute, "BPMN has no attribute %s, so it has no effect; correct its name or remove it", a.name)
		case prefix(a.space) == "":
			r.passOver(e, a.space)
		case noted[name]:
			r.note(e, "%s has no effect here", a.title())
		default:
			r.refuse(e, fault.ModelAttribute, "%s is not executed here; %s", a.title(), remedy(name))
		}
	}
}

func (r *reader) unreadExtensions(owner, x *element) {
	for _, child := range x.children {
		name := prefix(child.space) + child.name
		switch {
		case prefix(child.space) == "":
			r.passOver(owner, child.space)
		case child.used:
			r.unreadParts(owner, child)
		case noted[name]:
			r.note(owner, "%s has no effect here", child.title())
		default:
			r.refuse(owner, fault.ModelAttribute, "%s is not executed on a %s; %s", child.title(), owner.name, remedy(name))
		}
	}
}

// passOver notes, once for each, a namespace that means nothing here.
func (r *reader) passOver(e *element, space string) {
	if space == "" || space == bpmnSpace || strings.HasPrefix(space, "http://www.w3.org/") || r.foreign[space] {
		return
	}
	r.foreign[space] = true
	r.note(e, "what stands in the namespace %q has no effect here", space)
}

// unreadParts refuses attributes and elements of an extension that it does not have.
func (r *reader) unreadParts(owner, x *element) {
	for _, a := range x.attrs {
		if !a.used && a.name != "id" {
			r.refuse(owner, fault.ModelAttribute, "%s has no attribute %s here; correct its name or remove it", x.title(), a.name)
		}
	}
	for _, child := range x.children {
		if child.used {
			r.unreadParts(owner, child)
		} else if prefix(child.space) != "" {
			r.refuse(owner, fault.ModelAttribute, "%s has no element %s here; correct its name or remove it", x.title(), child.name)
		}
	}
}

func remedy(name string) string {
	if text := instead[name]; text != "" {
		return text
	}
	return "remove it, or correct its name"
}
