// Package feel is FEEL, the expression language of DMN 1.5 (chapter 10): compiled once, evaluated many times.
//
// Evaluation is pure: it reads its scope and the instant it is given, and nothing else. Operands that do not fit give null, as
// the standard says; errors are kept for what is not FEEL's to answer (budgets). It never reads a clock and never does I/O.
package feel
