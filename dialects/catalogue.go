package dialects

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Statement is one named statement of one dialect. Its parts run in one transaction; the last one answers.
type Statement struct {
	Name   string
	Fleet  bool     // crosses tenants
	Any    bool     // of tables, or by keys, that belong to no tenant: runs in every transaction
	Rows   []Column // the group's columns; nil: no group
	Each   bool     // as many rows hit as the group has, or as one statement without a group: one
	Parts  []string // one clause a line
	Params []string // sorted; an optional one ends in ?
	Reason string   // of an override
	Lines  int
}

var (
	param = regexp.MustCompile(`:[a-z][a-z_0-9]*\??`)
	words = []string{":page", ":skip", ":skipping", ":listing", ":newest", ":share", ":lock"}
)

// Load layers the dialect's statements, base first. An override repeats the name, says why, and gives the whole text; scope, rows
// and expect come from the base. Refused are a statement that overrides nothing, one that equals what it overrides, one that gives
// no reason, one whose parameters differ from the base's, and a tenant's statement that names no tenant.
func Load(d Dialect) (map[string]*Statement, error) {
	all := map[string]*Statement{}
	for depth, layer := range d.Layers {
		own, err := Read(layer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		for _, s := range own {
			base := all[s.Name]
			if err := s.over(base, depth); err != nil {
				return nil, fmt.Errorf("%s: %s %w", d.Name, s.Name, err)
			}
			all[s.Name] = s
		}
	}
	return all, nil
}

func (s *Statement) over(base *Statement, depth int) error {
	switch {
	case depth > 0 && base == nil:
		return fmt.Errorf("overrides nothing")
	case depth == 0 && base != nil:
		return fmt.Errorf("is there twice")
	case base == nil && !s.Fleet && !s.Any && !slices.Contains(s.Params, "tenant") && !slices.Contains(s.Params, "tenant?"):
		return fmt.Errorf("is no fleet statement and names no :tenant")
	case base == nil:
		return nil
	case slices.Equal(base.Parts, s.Parts):
		return fmt.Errorf("equals what it overrides")
	case !slices.Equal(base.Params, s.Params):
		return fmt.Errorf("takes %v, the base takes %v", s.Params, base.Params)
	case s.Reason == "":
		return fmt.Errorf("says not why it differs")
	}
	s.Fleet, s.Any, s.Rows, s.Each = base.Fleet, base.Any, base.Rows, base.Each
	return nil
}

// Read parses one layer.
func Read(layer fs.FS) ([]*Statement, error) {
	files, err := fs.Glob(layer, "*.sql")
	if err != nil {
		return nil, err
	}
	var out []*Statement
	for _, file := range files {
		text, err := fs.ReadFile(layer, file)
		if err != nil {
			return nil, err
		}
		for _, block := range strings.Split(string(text), "-- name: ")[1:] {
			s, err := parse(block)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func parse(block string) (*Statement, error) {
	name, body, _ := strings.Cut(block, "\n")
	s, sql := &Statement{Name: strings.TrimSpace(name)}, []string{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "-- ")
		key, value, _ := strings.Cut(comment, ": ")
		switch {
		case line == "":
		case !isComment:
			sql = append(sql, line)
		case key == "rows":
			for c := range strings.SplitSeq(value, ", ") {
				n, t, _ := strings.Cut(c, " ")
				s.Rows = append(s.Rows, Column{n, t})
			}
		case key == "expect" && value == "each":
			s.Each = true
		case key == "scope" && value == "fleet":
			s.Fleet = true
		case key == "scope" && value == "any":
			s.Any = true
		case key == "rows" || key == "expect" || key == "scope":
			return nil, fmt.Errorf("%s: cannot read %q", s.Name, line)
		default:
			s.Reason += comment
		}
	}
	s.Lines = len(sql)
	for part := range strings.SplitSeq(strings.Join(sql, "\n"), ";") {
		if part = strings.TrimSpace(part); part != "" {
			s.Parts = append(s.Parts, part)
		}
	}
	params := map[string]bool{}
	for _, p := range param.FindAllString(strings.Join(s.Parts, "\n"), -1) {
		switch {
		case p == ":page":
			params["limit"] = true
		case !slices.Contains(words, p):
			params[p[1:]] = true
		}
	}
	s.Params = slices.Sorted(maps.Keys(params))
	return s, nil
}

// Sub is a folder of a dialect's own embedded files.
func Sub(files fs.FS, folder string) fs.FS {
	sub, err := fs.Sub(files, folder)
	if err != nil {
		panic(err) // the folder's name is a constant beside the embedding
	}
	return sub
}
