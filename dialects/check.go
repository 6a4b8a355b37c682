package dialects

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check is one thing about a database, and how it is judged. A store that opens looks at those of the Boot, sutra doctor at all.
type Check struct {
	Name string
	// Query answers rows of one text. :age stands for the seconds after which something is old, :pool for the connections of one replica.
	Query  string
	Want   string // a regular expression that every text has to match; empty: every text is something wrong
	Advice string // what to change
	Fail   bool   // the engine cannot rely on this database; else it is worth a warning
	Boot   bool   // a store does not open on what fails, and warns of the rest
}

// Text is the query with its figures.
func (c Check) Text(age, pool int) string {
	return strings.NewReplacer(":age", strconv.Itoa(age), ":pool", strconv.Itoa(pool)).Replace(c.Query)
}

// Wrong answers those of the texts that are not as they have to be. No text at all is wrong where one is wanted.
func (c Check) Wrong(seen []string) ([]string, error) {
	if c.Want == "" {
		return seen, nil
	}
	want, err := regexp.Compile(c.Want)
	if err != nil {
		return nil, err
	}
	if len(seen) == 0 {
		return []string{"nothing"}, nil
	}
	return slices.DeleteFunc(slices.Clone(seen), want.MatchString), nil
}
