package ports

// Outcome is one element's answer. Every outcome but Unsettled is a fact.
type Outcome string

// The outcomes. Each port method says which it gives.
const (
	Unsettled  Outcome = ""            // not known or not possible: Err says why, and the class of the trouble
	Done       Outcome = "done"        // durable, or durable already under the same ids
	Duplicate  Outcome = "duplicate"   // the message is done already; Other has it
	NotActive  Outcome = "not-active"  // the deployment takes no new instances
	AliasTaken Outcome = "alias-taken" // a unique key is held by Other
	DoorTaken  Outcome = "door-taken"  // a door or channel name is open in another slot
	Held       Outcome = "held"        // somebody else owns it; nothing was written
	ClaimLost  Outcome = "claim-lost"  // the claim does not stand and the step is not known to have landed; nothing was written
	LockLost   Outcome = "lock-lost"   // the task's lock is another's by now
	Gone       Outcome = "gone"        // it is not there, or settled by another
	Stale      Outcome = "stale"       // what it was decided from has changed
)

// Answer is the outcome of one element.
type Answer struct {
	Outcome Outcome
	Other   InstanceID // Duplicate, AliasTaken: who has it
	Detail  string     // DoorTaken, Stale: what it was, for people
	Err     error      // set when Unsettled, and only then; it spoils no neighbour
}
