// Package feel is FEEL, the expression language of DMN 1.5 (chapter 10): compiled once, evaluated many times.
//
// Evaluation is pure: it reads its scope and the instant it is given, and nothing else. Operands that do not fit give null, as
// the standard says; errors are kept for what is not FEEL's to answer (budgets). It never reads a clock and never does I/O; the
// offsets of named zones are those of the machine's time zone data, else of the data that is built in.
//
// It refuses, when it compiles: external functions, numbers of more than 34 digits, at-literals that are no date, time or duration,
// one key twice in a context. It refuses, by null: back-references in patterns, so that matching stays linear, and ranges whose
// ends do not bound one. Names of several words are read where they are known (Compiler.Names, bound names, keys) or between
// backticks; two names side by side are an error rather than an unknown name.
package feel
