package step_test

import "testing"

// fact is what users of other engines met, or what engines get wrong, with the tests that show that it does not happen here.
type fact struct {
	name  string
	tests []func(*testing.T)
}

func show(t *testing.T, facts []fact) {
	t.Helper()
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			for _, test := range f.tests {
				test(t)
			}
		})
	}
}

func is(tests ...func(*testing.T)) []func(*testing.T) { return tests }

// TestPitfallsOfBPMN has the failures that users of workflow engines reported, one after the other.
func TestPitfallsOfBPMN(t *testing.T) {
	show(t, []fact{
		{"resume by replay: gateways are evaluated again on changed variables", is(TestGatewaysNeverReevaluate)},
		{"resume by replay: loops are skipped", is(TestSequentialSurvivesRestart, TestStandardLoop)},
		{"resume by replay: throw events are sent again at every resume", is(TestGatewaysNeverReevaluate, TestReplayIsExactlyOnce)},
		{"a parallel join counts arrivals instead of tokens per flow", is(TestParallelJoinTakesOnePerFlow, TestSurplusWaitsForNextRound)},
		{"a second lap through a join", is(TestJoinInALoop)},
		{"joins inside loops", is(TestJoinInALoop, TestInclusiveJoinsInLoops)},
		{"an inclusive join waits for a token that can never come", is(TestInclusiveJoinSeesATokenLeaveByItsBoundary, TestInclusiveJoinDoesNotWaitForATokenThatMayFollow, TestInclusiveJoinsInLoops, TestInclusiveJoinLooksAtItsOwnIterationAlone)},
		{"an inclusive join fires before a token that can come", is(TestInclusiveJoinWithABackEdge, TestNestedInclusiveJoin)},
		{"terminate with parked siblings", is(TestTerminateEndsOnlyItsScope, TestTerminateEndsTheProcess)},
		{"a wait inside a sub-process is skipped", is(TestImplicitStartAndEnd, TestEventSubProcessesWithTimers)},
		{"a wait inside a called process is skipped", is(TestCallStartsAChildAndTakesItsResult, TestCalledProcessesWithMappings)},
		{"a parallel multi-instance runs in sequence", is(TestParallelIterationsAllWait)},
		{"compensation forgets what ran before a wait", is(TestLogSurvivesAWait, TestLastCompletedFirst)},
		{"an escalation is caught by the wrong scope", is(TestEscalationInterruptsOrNot, TestEscalationInItsHandlerGoesOutward, TestInterruptingEscalationOfAChildDropsItsResult)},
		{"an error is caught by the wrong scope", is(TestInnermostCatcherWins, TestInlineBeforeBoundary, TestCodeBeforeCatchAll, TestErrorInHandlerGoesOutward, TestHandlersErrorIsCaughtWhereItWasThrown)},
		{"numbers become strings across a wait", is(TestValuesKeepTypesAcrossAWait)},
		{"null becomes empty across a wait", is(TestValuesKeepTypesAcrossAWait)},
	})
}

// TestFifteenModelsThatEnginesGetWrong has the models of tokens.md, section 7.
func TestFifteenModelsThatEnginesGetWrong(t *testing.T) {
	show(t, []fact{
		{"1 a parallel join with arrivals a, a, b", is(TestSurplusWaitsForNextRound)},
		{"2 an exclusive split into a parallel join", is(TestUnjoinableTokensFail)},
		{"3 an inclusive join whose awaited token leaves by its timer", is(TestInclusiveJoinSeesATokenLeaveByItsBoundary)},
		{"4 an inclusive join with a back edge from its own output", is(TestInclusiveJoinWithABackEdge)},
		{"5 an inclusive join in a parallel multi-instance", is(TestInclusiveJoinLooksAtItsOwnIterationAlone)},
		{"6 a nested inclusive split and join", is(TestNestedInclusiveJoin)},
		{"7 an emission, a gateway on payload, a catch that overwrites it", is(TestGatewaysNeverReevaluate)},
		{"8 completion, timer and message of one task in one fold", is(TestSiblingBoundariesVanish, TestCompletionBeatsTimeoutOfTheSameInstant)},
		{"9 a non-interrupting boundary path that outlives its activity", is(TestNonInterruptingKeepsScopeOpen)},
		{"10 a message to an event sub-process when the main flow is done", is(TestNoneStartsWhileCompleting)},
		{"11 an error thrown in an interrupting event sub-process", is(TestErrorInHandlerGoesOutward)},
		{"12 terminate in one of three iterations", is(TestTerminateEndsOnlyItsScope)},
		{"13 compensation of a task, a wait and a sequential multi-instance", is(TestLastCompletedFirst, TestSeesItsOwnItem, TestNeverTwice, TestLogSurvivesAWait)},
		{"14 cancel in a transaction with a completed and a running activity", is(TestCancelKillsCompensatesLeaves)},
		{"15 a call with an interrupting escalation boundary whose child completes at once", is(TestInterruptingEscalationOfAChildDropsItsResult)},
	})
}
