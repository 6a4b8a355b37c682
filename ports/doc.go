// Package ports says what the engine needs from the world: interfaces, plain records, outcomes.
//
// One method is one atomic fact: it happens whole or not at all, and no transaction crosses a port. Methods take slices and answer
// one outcome for each element; one element's bad outcome never costs its neighbours theirs. Expected outcomes are values, errors
// are trouble. Nothing here waits, retries or decides.
package ports
