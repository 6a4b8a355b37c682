package feel

import "slices"

// lists are the functions of DMN 1.5, 10.3.4.4 and sort() of 10.3.4.8.
var lists = definitions{
	"list contains(list, element)":           listContains,
	"count(list)":                            count,
	"min(list...)":                           least(-1),
	"max(list...)":                           least(1),
	"sum(list...)":                           sum,
	"mean(list...)":                          mean,
	"all(list...)":                           quantifier(false),
	"any(list...)":                           quantifier(true),
	"sublist(list, start position, length?)": sublist,
	"append(list, item...)":                  appendItems,
	"concatenate(list...)":                   concatenate,
	"insert before(list, position, newItem)": insertBefore,
	"remove(list, position)":                 remove,
	"list replace(list, position, newItem)":  listReplace,
	"reverse(list)":                          reverse,
	"index of(list, match)":                  indexOf,
	"union(list...)":                         union,
	"distinct values(list)":                  union,
	"flatten(list)":                          flatten,
	"product(list...)":                       product,
	"median(list...)":                        median,
	"stddev(list...)":                        stddev,
	"mode(list...)":                          mode,
	"sort(list, precedes?)":                  sortList,
}

func (m *machine) position(list List, v Value) int {
	return slices.IndexFunc(list, func(item Value) bool { return m.same(v, item) })
}

func listContains(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	return Boolean(m.position(list, args[1]) >= 0)
}

func count(_ *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	return numberOf(int64(len(list)))
}

// least answers the element that comes first in the order, or in the reverse order with sign 1.
func least(sign int) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		list, ok := items(args)
		if !ok || len(list) == 0 {
			return nil
		}
		best := list[0]
		for _, item := range list {
			order, ok := Compare(item, best)
			if !ok {
				return nil
			}
			if order*sign > 0 {
				best = item
			}
		}
		return best
	}
}

func numbers(args []Value) ([]Number, bool) {
	list, ok := items(args)
	if !ok || len(list) == 0 {
		return nil, false
	}
	all := make([]Number, len(list))
	for i, item := range list {
		if all[i], ok = item.(Number); !ok {
			return nil, false
		}
	}
	return all, true
}

func sum(m *machine, args []Value) Value {
	list, ok := items(args)
	if !ok || len(list) == 0 {
		return nil
	}
	total := list[0]
	if !summable(total) {
		return nil
	}
	for _, item := range list[1:] {
		if !summable(item) || total == nil {
			return nil
		}
		total = m.add(total, item)
	}
	return total
}

func summable(v Value) bool {
	switch v.(type) {
	case Number, DaysTime, YearsMonths:
		return true
	}
	return false
}

func mean(m *machine, args []Value) Value {
	total := sum(m, args)
	if total == nil {
		return nil
	}
	list, _ := items(args)
	return divide(total, numberOf(int64(len(list))))
}

func product(_ *machine, args []Value) Value {
	all, ok := numbers(args)
	if !ok {
		return nil
	}
	total := numberOf(1)
	for _, n := range all {
		if total, ok = total.multiply(n).(Number); !ok {
			return nil
		}
	}
	return total
}

// quantifier is the disjunction of booleans, or with decisive false their conjunction.
func quantifier(decisive Boolean) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		list, ok := items(args)
		if !ok && len(args) > 0 {
			return nil
		}
		var result Value = !decisive
		for _, item := range list {
			truth, ok := item.(Boolean)
			switch {
			case ok && truth == decisive:
				return decisive
			case !ok:
				result = nil
			}
		}
		return result
	}
}

func sublist(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	start, isNumber := as[Number](args[1])
	if !ok || !isNumber {
		return nil
	}
	from, ok := index(list, start)
	if !ok {
		return nil
	}
	list = list[from:]
	if v := argument(args, 2); v != nil {
		length, isNumber := as[Number](v)
		n, ok := wholeInt(length)
		if !isNumber || !ok || n < 1 || n > len(list) {
			return nil
		}
		list = list[:n]
	}
	return m.list(slices.Clone(list))
}

// index turns a position that counts from 1, or backwards from -1, into one that counts from 0.
func index(list List, position Number) (int, bool) {
	i, ok := wholeInt(position)
	switch {
	case !ok || i == 0 || i > len(list) || i < -len(list):
		return 0, false
	case i > 0:
		return i - 1, true
	}
	return len(list) + i, true
}

func appendItems(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		if len(args) == 1 {
			return nil
		}
		list = List{nil}
	}
	return m.list(slices.Concat(list, List(args[1:])))
}

func concatenate(m *machine, args []Value) Value {
	result := List{}
	for _, arg := range args {
		list, ok := asList(arg)
		if !ok {
			return nil
		}
		m.room(len(result) + len(list))
		result = append(result, list...)
	}
	return result
}

func insertBefore(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	position, isNumber := as[Number](args[1])
	if !ok || !isNumber {
		return nil
	}
	i, ok := index(list, position)
	if !ok {
		return nil
	}
	return m.list(slices.Insert(slices.Clone(list), i, args[2]))
}

func remove(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	position, isNumber := as[Number](args[1])
	if !ok || !isNumber {
		return nil
	}
	i, ok := index(list, position)
	if !ok {
		return nil
	}
	return m.list(slices.Delete(slices.Clone(list), i, i+1))
}

// listReplace replaces at a position, or wherever a function of the element and the new item answers true.
func listReplace(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	replaced := slices.Clone(list)
	switch at := single(args[1]).(type) {
	case Number:
		i, ok := index(list, at)
		if !ok {
			return nil
		}
		replaced[i] = args[2]
	case *Function:
		for i, item := range list {
			match, ok := m.call(at, []Value{item, args[2]}).(Boolean)
			if !ok {
				return nil
			}
			if match {
				replaced[i] = args[2]
			}
		}
	default:
		return nil
	}
	return m.list(replaced)
}

func reverse(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	return m.list(reversed)
}

func indexOf(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	found := List{}
	for i, item := range list {
		if m.same(args[1], item) {
			found = append(found, numberOf(int64(i+1)))
		}
	}
	return m.list(found)
}

// union is the concatenation without repetitions.
func union(m *machine, args []Value) Value {
	all, ok := concatenate(m, args).(List)
	if !ok {
		return nil
	}
	distinct := List{}
	for _, item := range all {
		m.spend(len(distinct))
		if m.position(distinct, item) < 0 {
			distinct = append(distinct, item)
		}
	}
	return distinct
}

func flatten(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	flat := List{}
	var walk func(List, int)
	walk = func(list List, depth int) {
		if depth > maxNesting {
			m.fail("lists nested more than %d levels", maxNesting)
		}
		m.room(len(list))
		for _, item := range list {
			if inner, ok := item.(List); ok {
				walk(inner, depth+1)
			} else {
				flat = append(flat, item)
			}
		}
	}
	walk(list, 0)
	return m.list(flat)
}

func sortedNumbers(args []Value) ([]Number, bool) {
	all, ok := numbers(args)
	slices.SortFunc(all, func(a, b Number) int { return a.Decimal.Cmp(b.Decimal) })
	return all, ok
}

func median(_ *machine, args []Value) Value {
	all, ok := sortedNumbers(args)
	if !ok {
		return nil
	}
	middle := len(all) / 2
	if len(all)%2 == 1 {
		return all[middle]
	}
	total, ok := all[middle-1].add(all[middle]).(Number)
	if !ok {
		return nil
	}
	return total.divide(numberOf(2))
}

// stddev is the standard deviation of a sample.
func stddev(m *machine, args []Value) Value {
	all, ok := numbers(args)
	if !ok || len(all) < 2 {
		return nil
	}
	average, ok := mean(m, args).(Number)
	if !ok {
		return nil
	}
	squares := make(List, len(all))
	for i, n := range all {
		m.weigh(n, average)
		distance, ok := n.subtract(average).(Number)
		if !ok {
			return nil
		}
		squares[i] = distance.multiply(distance)
	}
	variance := divide(sum(m, []Value{squares}), numberOf(int64(len(all)-1)))
	return function(stepsOfRoot, decimals.Sqrt)(m, []Value{variance})
}

// mode answers the most frequent numbers, in their order.
func mode(m *machine, args []Value) Value {
	list, ok := items(args)
	if !ok {
		return nil
	}
	if len(list) == 0 {
		return List{}
	}
	all, ok := sortedNumbers(args)
	if !ok {
		return nil
	}
	modes, best, run := List{}, 0, 0
	for i, n := range all {
		if i > 0 && n.Decimal.Cmp(all[i-1].Decimal) == 0 {
			run++
		} else {
			run = 1
		}
		if run > best {
			modes, best = List{}, run
		}
		if run == best {
			modes = append(modes, n)
		}
	}
	return m.list(modes)
}

// sortList sorts stably by a precedes function, or by the order of the elements.
func sortList(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	result := slices.Clone(list)
	valid := true
	order := func(a, b Value) int {
		o, ok := Compare(a, b)
		valid = valid && ok
		return o
	}
	if precedes := argument(args, 1); precedes != nil {
		fn, ok := precedes.(*Function)
		if !ok || !fn.takes(2) {
			return nil
		}
		order = func(a, b Value) int {
			first, ok := m.call(fn, []Value{a, b}).(Boolean)
			valid = valid && ok
			if first {
				return -1
			}
			if second, _ := m.call(fn, []Value{b, a}).(Boolean); bool(second) {
				return 1
			}
			return 0
		}
	}
	m.room(len(list))
	slices.SortStableFunc(result, order)
	if !valid {
		return nil
	}
	return result
}
