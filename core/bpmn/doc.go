// Package bpmn reads BPMN 2.0 models into graphs that can run. It executes nothing: what the engine does not execute is refused
// here, with file, line, element and code, and never silently skipped: whatever nobody asked for while reading is refused in the end.
//
// Extensions of other engines are read as their equals here:
//
//	zeebe:taskDefinition, zeebe:taskHeaders            a task for workers: topic, attempts, headers
//	camunda:type="external", camunda:topic             the same
//	implementation="channel:<name>"                    a call over a channel; pull channels: a task for workers
//	zeebe:ioMapping, camunda:inputOutput               input and output mappings, in document order
//	data associations that assign or transform         the same; others only draw; inputs and
//	                                                   outputs of an ioSpecification are written by their names
//	a boxed DMN literal expression in a transformation  its FEEL text
//	http://activiti.org/bpmn,
//	http://flowable.org/bpmn,
//	http://operaton.org/schema/1.0/bpmn                namespaces of Camunda's family: read as camunda
//	zeebe:subscription                                 an alias of the wait, matched by the key that the message brings
//	zeebe:calledElement, camunda:in, camunda:out       what is called, and mappings of the call
//	zeebe:loopCharacteristics, camunda:collection,
//	camunda:elementVariable                            the collection and item of a multi-instance
//	zeebe:adHoc                                        the elements that an ad-hoc sub-process starts, and what it gathers
//	zeebe:calledDecision, camunda:decisionRef,
//	camunda:mapDecisionResult, camunda:resultVariable  a decision, the form of its result, and the variable that takes it
//	zeebe:script, scriptFormat="feel"                  a FEEL script; scriptFormat="template" renders a template
//	zeebe:userTask, zeebe:assignmentDefinition,
//	zeebe:formDefinition, zeebe:taskSchedule,
//	zeebe:priorityDefinition, camunda:assignee,
//	camunda:candidateUsers, camunda:candidateGroups,
//	camunda:formKey, camunda:formRef, camunda:dueDate,
//	camunda:followUpDate, camunda:priority             headers of a task on the topic sutra:user-task
//	camunda:errorMessage                               what an error says when it is thrown
//	camunda:errorCodeVariable,
//	camunda:errorMessageVariable,
//	camunda:escalationCodeVariable                     further variables that take what was caught
//
// A timeCycle is an ISO 8601 repeating interval (R3/PT10M), or a cron expression, seconds first, in UTC, with days of the week by name
// (0 0 9 ? * MON-FRI). Durations may have months and days at once (P1M10D), and weeks. An interval that has a start
// (R3/2026-01-01T00:00:00Z/PT10M), an end (R/PT10M/2026-01-01T00:00:00Z) or both comes at the times they give: R3/PT10M with an end three
// times, the last time then. What would have come before the timer is armed is over.
//
// q:reply and q:send take their body from template="<path below templates/>" or body="<FEEL>"; without either it is the JSON of the
// variables. q:reply takes a status. In the modes cloudevent-binary and cloudevent-structured they go out as CloudEvents 1.0; a reply in
// the mode match-inbound is one where what it answers was one. Headers named ce-… are attributes.
//
// q:onValidation says what a node does with a payload that violates its channel's schema: reject refuses it at the door; route takes it,
// and the variable validationErrors lists what is wrong (path, message), or is an empty list; error throws errorCode, or
// SUTRA.INTAKE.SCHEMA.VIOLATED, with the payload as data.
package bpmn
