package feel

import "maps"

// contexts are the functions of DMN 1.5, 10.3.4.9.
var contexts = definitions{
	"get value(m, key)":                getValue,
	"get entries(m)":                   getEntries,
	"context(entries)":                 contextOfEntries,
	"context put(context, key, value)": contextPut,
	"context merge(contexts)":          contextMerge,
}

func getValue(m *machine, args []Value) Value {
	context, ok := as[Context](args[0])
	key, isText := as[String](args[1])
	if !ok || !isText {
		return nil
	}
	return context[string(key)]
}

func getEntries(m *machine, args []Value) Value {
	context, ok := as[Context](args[0])
	if !ok {
		return nil
	}
	entries := List{}
	for _, key := range context.keys() {
		entries = append(entries, Context{"key": String(key), "value": context[key]})
	}
	return m.list(entries)
}

func contextOfEntries(m *machine, args []Value) Value {
	entries, ok := asList(args[0])
	if !ok {
		return nil
	}
	m.room(len(entries))
	result := Context{}
	for _, item := range entries {
		entry, ok := item.(Context)
		key, isText := entry["key"].(String)
		value, hasValue := entry["value"]
		_, twice := result[string(key)]
		if !ok || !isText || !hasValue || twice {
			return nil
		}
		result[string(key)] = value
	}
	return result
}

// contextPut sets one entry, or with a list of keys one in contexts within the context.
func contextPut(m *machine, args []Value) Value {
	context, ok := args[0].(Context)
	if !ok {
		return nil
	}
	keys, ok := asList(args[1])
	if !ok || len(keys) == 0 {
		return nil
	}
	return m.put(context, keys, args[2])
}

func (m *machine) put(context Context, keys List, value Value) Value {
	key, ok := keys[0].(String)
	if !ok {
		return nil
	}
	if len(keys) > 1 {
		inner, ok := context[string(key)].(Context)
		if !ok {
			return nil
		}
		if value = m.put(inner, keys[1:], value); value == nil {
			return nil
		}
	}
	m.room(len(context))
	changed := maps.Clone(context)
	changed[string(key)] = value
	return changed
}

func contextMerge(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	merged := Context{}
	for _, item := range list {
		context, ok := item.(Context)
		if !ok {
			return nil
		}
		m.room(len(context))
		maps.Copy(merged, context)
	}
	return merged
}
