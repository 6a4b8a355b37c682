package feel_test

import (
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
)

func BenchmarkEval(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"condition", `x > 3 and name = "Ada"`},
		{"path", `order.customer.vip`},
		{"arithmetic", `(x + 1.25) * 3 - x / 2`},
		{"filter", `orders[price > 10].id`},
		{"for", `for i in 1..100 return i * x`},
		{"call", `substring(upper case(name), 1, 2)`},
		{"date", `date("2024-01-31") + duration("P1M")`},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := feel.Compile(c.source)
			if err != nil {
				b.Fatal(err)
			}
			env := env()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := feel.Compile(`if order.total > 100 and customer.vip then "express" else "standard"`); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromJSON(b *testing.B) {
	data := []byte(`{"id":"o-1","total":129.95,"lines":[{"sku":"a","n":2},{"sku":"b","n":1}],"vip":true,"note":null}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := feel.FromJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}
