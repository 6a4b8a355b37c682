package feel

import (
	"maps"
	"slices"
	"strings"
)

// builtins is the library of DMN 1.5, 10.3.4, and a few functions more. It is never changed.
var builtins = library(conversions, texts, lists, numerics, temporals, intervals, contexts, extras)

// builtinPhrases are the names in the library that have several words.
var builtinPhrases = phrases(builtins)

// definitions are functions by their signature: "name(parameter, optional?, rest...)".
type definitions map[string]func(m *machine, args []Value) Value

// overloads are the further parameter lists of functions that may be invoked by other names or counts of parameters.
var overloads = map[string][]string{
	"date":          {"year, month, day"},
	"date and time": {"date, time", "year, month, day, hour, minute, second", "year, month, day, hour, minute, second, offset"},
	"time":          {"hour, minute, second", "hour, minute, second, offset"},
	"list replace":  {"list, match, newItem"},
	"string join":   {"list, delimiter, prefix, suffix"},
	"context put":   {"context, keys, value"},
	"before":        {"point, range", "range, point", "range1, range2"},
	"after":         {"point, range", "range, point", "range1, range2"},
	"finishes":      {"range1, range2"},
	"finished by":   {"range1, range2"},
	"includes":      {"range1, range2"},
	"during":        {"range1, range2"},
	"starts":        {"range1, range2"},
	"started by":    {"range1, range2"},
	"coincides":     {"range1, range2"},
}

func library(parts ...definitions) map[string]*Function {
	all := map[string]*Function{}
	for _, part := range parts {
		for signature, run := range part {
			f := define(signature)
			f.run = run
			all[f.name] = f
		}
	}
	return all
}

func define(signature string) *Function {
	name, parameters, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	f := &Function{name: name}
	for _, p := range parameterNames(parameters) {
		if trimmed, ok := strings.CutSuffix(p, "?"); ok {
			f.optional, p = f.optional+1, trimmed
		}
		if trimmed, ok := strings.CutSuffix(p, "..."); ok {
			f.variadic, p = true, trimmed
		}
		f.parameters = append(f.parameters, Parameter{Name: p})
	}
	for _, names := range overloads[name] {
		f.overloads = append(f.overloads, parameterNames(names))
	}
	return f
}

func parameterNames(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

func phrases(library map[string]*Function) []phrase {
	var all []phrase
	for _, name := range slices.Sorted(maps.Keys(library)) {
		if words := strings.Fields(name); len(words) > 1 {
			all = append(all, phrase{words, name})
		}
	}
	return all
}

// argument answers the argument at a position, null when it was left out.
func argument(args []Value, i int) Value {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// single takes the element out of a list of one.
func single(v Value) Value {
	if list, ok := v.(List); ok && len(list) == 1 {
		return list[0]
	}
	return v
}

// as answers the value, or the one element of the list, when it is of type T.
func as[T Value](v Value) (T, bool) {
	t, ok := single(v).(T)
	return t, ok
}

// asList answers a list, or the value as a list of one; null is no list.
func asList(v Value) (List, bool) {
	if list, ok := v.(List); ok {
		return list, true
	}
	return List{v}, v != nil
}

// items answers the elements given as one list or as several arguments.
func items(args []Value) (List, bool) {
	if len(args) == 1 {
		return asList(args[0])
	}
	return args, len(args) > 0
}

// unary lifts a function of one argument of type T.
func unary[T Value](run func(T) Value) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		v, ok := as[T](args[0])
		if !ok {
			return nil
		}
		return run(v)
	}
}

// binary lifts a function of two arguments of types A and B.
func binary[A, B Value](run func(A, B) Value) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		a, ok := as[A](args[0])
		b, both := as[B](args[1])
		if !ok || !both {
			return nil
		}
		return run(a, b)
	}
}
