// Package dmn runs decision models of DMN 1.1 to 1.5: a reader, the requirements graph, decision tables and all boxed expressions,
// with FEEL as the only expression language. It is pure: a decision is a function of its inputs and the instant it is given.
// It calls no external functions and fetches no imports.
package dmn
