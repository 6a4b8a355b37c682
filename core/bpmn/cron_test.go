package bpmn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
)

func TestCronExpressionsComeWhenTheySay(t *testing.T) {
	from := time.Date(2026, 1, 31, 12, 34, 56, 0, time.UTC) // a Saturday
	for text, want := range map[string]string{
		"0 0 9 ? * MON-FRI":     "Mon 2026-02-02 09:00:00, Tue 2026-02-03 09:00:00",
		"*/20 * * * * *":        "Sat 2026-01-31 12:35:00, Sat 2026-01-31 12:35:20",
		"0 0/15 12-13 * * ?":    "Sat 2026-01-31 12:45:00, Sat 2026-01-31 13:00:00",
		"30 34 12 * * *":        "Sun 2026-02-01 12:34:30, Mon 2026-02-02 12:34:30",
		"0 0 0 31 * ?":          "Tue 2026-03-31 00:00:00, Sun 2026-05-31 00:00:00",
		"0 0 0 L * ?":           "Sat 2026-02-28 00:00:00, Tue 2026-03-31 00:00:00",
		"0 0 0 L-2 * ?":         "Thu 2026-02-26 00:00:00, Sun 2026-03-29 00:00:00",
		"0 0 0 LW * ?":          "Fri 2026-02-27 00:00:00, Tue 2026-03-31 00:00:00",
		"0 0 0 1W * ?":          "Mon 2026-02-02 00:00:00, Mon 2026-03-02 00:00:00",
		"0 0 0 1W AUG ?":        "Mon 2026-08-03 00:00:00, Mon 2027-08-02 00:00:00",
		"0 0 8 ? * TUE#2":       "Tue 2026-02-10 08:00:00, Tue 2026-03-10 08:00:00",
		"0 0 8 ? * FRIL":        "Fri 2026-02-27 08:00:00, Fri 2026-03-27 08:00:00",
		"0 0 0 29 2 ?":          "Tue 2028-02-29 00:00:00, Sun 2032-02-29 00:00:00",
		"0 0 0 13 * FRI":        "Fri 2026-02-13 00:00:00, Fri 2026-03-13 00:00:00",
		"0 0 12 1 1,jul ? 2027": "Fri 2027-01-01 12:00:00, Thu 2027-07-01 12:00:00",
		"@monthly":              "Sun 2026-02-01 00:00:00, Sun 2026-03-01 00:00:00",
	} {
		c, err := bpmn.ParseCron(text)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for at := from; len(got) < 2; {
			next, ok := c.Next(at)
			if !ok {
				break
			}
			got, at = append(got, next.Format("Mon 2006-01-02 15:04:05")), next
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s comes on %s, want %s", text, strings.Join(got, ", "), want)
		}
	}
	c, err := bpmn.ParseCron("0 0 12 1 1 ? 2027")
	if err != nil {
		t.Fatal(err)
	}
	if at, more := c.Next(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)); more {
		t.Errorf("it comes again on %s, and is of one year", at)
	}
}

func TestCronExpressionsThatSayNothingAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"": "second, minute", "0 0 9 * *": "second, minute", "0 0 9 * * * * *": "second, minute", "60 0 9 * * *": "from 0 to 59", "0 0 24 * * *": "from 0 to 23",
		"0 0 9 0 * *": "from 1 to 31", "0 0 9 * 13 *": "from 1 to 12", "0 0 9 * FOO *": "from 1 to 12", "0 0 9 * * 1-5": "from different days", "0 0 9 * * MON#6": "from 1 to 5",
		"0 0 9 * * XYZ": "from 0 to 6", "0 0/0 9 * * *": "no step", "0 30-10 9 * * *": "backwards", "0 0 9 31 2 *": "no such day", "0 0 9 30W 2 *": "no such day",
		"0 0 9 * * FRI-MON": "backwards", "@often": "second, minute", "0 0 9 1 1 ? 1999": "from 2020", "0 0 9 * * X#1": "no day of week",
	} {
		if _, err := bpmn.ParseCron(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want something of %q", text, err, why)
		}
	}
}
