package scenario_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/process"
	"github.com/sutra-engine/sutra/conformance/provision"
)

// page is a document whose files are written and whose commands are run, from top to bottom, in one shell. After each command stands what
// it prints: lines of it, in their order; … is anything. Ids, digests and instants are other ones every time: where the page names one again, it
// means the one that was printed in its place.
type page struct {
	t     *testing.T
	path  string
	dir   string
	swap  *strings.Replacer // what the page says → what it is here
	known map[string]string // ids of the page → ids of this run
	env   []string
	sql   func(string) // runs a statement as the database's administrator
}

const (
	marker  = "page-command-ended"
	ids     = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{12}\b`
	instant = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?`
)

var (
	block   = regexp.MustCompile("(?s)(?:`([a-z_/.-]+)`:\n\n)?```([a-z]+)( another)?\n(.*?)\n```\n")
	changes = regexp.MustCompile(`…|` + ids + `|` + instant)
)

// read runs every block of a page: files, commands, and commands that another terminal keeps running.
func (p *page) read() {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(root(p.t), p.path))
	if err != nil {
		p.t.Fatal(err)
	}
	p.known = map[string]string{}
	p.write(".curlrc", "silent\nshow-error") // as on a terminal
	sh := p.shell()
	ran := 0
	for _, b := range block.FindAllStringSubmatch(p.swap.Replace(string(text)), -1) {
		name, kind, other, body := b[1], b[2], b[3], b[4]
		switch {
		case kind == "console" && other != "":
			p.keep(body)
		case kind == "console":
			ran += p.converse(sh, body)
		case kind == "sql":
			for statement := range strings.SplitSeq(body, ";\n") {
				p.sql(strings.TrimSuffix(statement, ";"))
			}
		case name != "":
			p.write(name, body)
		}
	}
	if ran == 0 {
		p.t.Errorf("%s has no command", p.path)
	}
}

func (p *page) write(name, body string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// shell is a bash that takes one command after the other.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

func (p *page) command(text ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "bash", text...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "PATH="+filepath.Dir(stage.Binary)+":"+os.Getenv("PATH"), "HOME="+p.dir), p.env...)
	return cmd
}

func (p *page) shell() shell {
	p.t.Helper()
	cmd := p.command()
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	started, err := process.Start(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = read.Close() // so that nothing waits for a reader
		if err := started.Kill(); err != nil {
			p.t.Error(err)
		}
	})
	return shell{in, bufio.NewReader(read)}
}

// run gives the output of a command and its exit code.
func (s shell) run(command string) (out, code string, err error) {
	if _, err := fmt.Fprintf(s.in, "%s\necho \"\n%s $?\"\n", command, marker); err != nil {
		return "", "", err
	}
	var all strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if code, ends := strings.CutPrefix(line, marker+" "); ends {
			return all.String(), strings.TrimSpace(code), err
		}
		all.WriteString(line)
		if err != nil {
			return all.String(), "", err
		}
	}
}

// converse runs the commands of a block and compares what they print.
func (p *page) converse(sh shell, body string) (ran int) {
	p.t.Helper()
	for _, c := range strings.Split("\n"+body, "\n$ ")[1:] {
		command, want := p.cut(c)
		out, code, err := sh.run(command)
		if err != nil {
			p.t.Fatalf("%s: $ %s: %v\n%s", p.path, command, err, out)
		}
		if code != "0" && !strings.Contains(want, "sutra: ") {
			p.t.Fatalf("%s: $ %s: exit code %s\n%s", p.path, command, code, out)
		}
		if missing := p.miss(out, want); missing != "" {
			p.t.Fatalf("%s: $ %s\nprints\n%s\nwhere the page says\n%s", p.path, command, out, missing)
		}
		p.t.Logf("$ %s\n%s", command, out)
		ran++
	}
	return ran
}

// cut parts a command, which goes on where a line ends with a backslash or stands indented, from what it prints.
func (p *page) cut(text string) (command, want string) {
	lines := strings.Split(text, "\n")
	n := 1
	for n < len(lines) && (strings.HasSuffix(lines[n-1], `\`) || strings.HasPrefix(lines[n], "    ")) {
		n++
	}
	command = strings.Join(lines[:n], "\n")
	for on, here := range p.known {
		command = strings.ReplaceAll(command, on, here)
	}
	// A long line of JSON may go on in the next one, after one blank.
	return command, regexp.MustCompile(`\n ([{"\[}\]])`).ReplaceAllString(strings.Join(lines[n:], "\n"), "$1")
}

// miss compares line by line, and answers the first line of the page that is not there. It learns the ids.
func (p *page) miss(out, want string) string {
	lines := strings.Split(out, "\n")
	for w := range strings.SplitSeq(want, "\n") {
		if strings.TrimSpace(w) == "" {
			continue
		}
		pattern, names := p.pattern(w)
		found := false
		for len(lines) > 0 && !found {
			line := strings.TrimRight(lines[0], " \r")
			lines = lines[1:]
			m := pattern.FindStringSubmatch(line)
			if found = m != nil; found {
				for i, name := range names {
					p.known[name] = m[i+1]
				}
			}
		}
		if !found {
			return w
		}
	}
	return ""
}

func (p *page) pattern(line string) (*regexp.Regexp, []string) {
	var out strings.Builder
	var names []string
	at := 0
	for _, m := range changes.FindAllStringIndex(line, -1) {
		out.WriteString(regexp.QuoteMeta(line[at:m[0]]))
		what := line[m[0]:m[1]]
		at = m[1]
		switch here, known := p.known[what]; {
		case what == "…":
			out.WriteString(".*")
		case strings.Contains(what, ":"):
			out.WriteString(instant)
		case known:
			out.WriteString(regexp.QuoteMeta(here))
		default:
			out.WriteString("(" + ids + ")")
			names = append(names, what)
		}
	}
	out.WriteString(regexp.QuoteMeta(strings.TrimRight(line[at:], " ")))
	text := regexp.MustCompile(` {2,}`).ReplaceAllString(out.String(), ` +`) // tables are as wide as what is in them
	return regexp.MustCompile("^" + text + "$"), names
}

// keep runs the one command of a block beside the shell until the test ends, and waits for what it prints.
func (p *page) keep(body string) {
	p.t.Helper()
	command, want := p.cut(strings.TrimPrefix(body, "$ "))
	var out output
	cmd := p.command("-c", "exec "+command)
	cmd.Stdout, cmd.Stderr = &out, &out
	started, err := process.Start(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := started.Kill(); err != nil {
			p.t.Error(err)
		}
		if p.t.Failed() {
			p.t.Logf("$ %s\n%s", command, out.String())
		}
	})
	missing := want
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if missing = p.miss(out.String(), want); missing == "" {
			return
		}
	}
	p.t.Fatalf("%s: $ %s\nprints\n%s\nwhere the page says\n%s", p.path, command, out.String(), missing)
}

// output is what a process prints, for who reads along.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func address(t *testing.T) string {
	t.Helper()
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", port)
}

// needs skips a page whose commands this machine does not have.
func needs(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			t.Skipf("the page needs %s: %v", c, err)
		}
	}
}

// TestTheAuthorsGuide does what docs/authors-guide.md says.
func TestTheAuthorsGuide(t *testing.T) {
	needs(t, "bash", "curl", "python3", "node")
	if *dialect != "sqlite" {
		t.Skip("the author's guide is for sutra dev, on SQLite")
	}
	t.Parallel()
	here := address(t)
	p := &page{
		t: t, path: "docs/authors-guide.md", dir: t.TempDir(), swap: strings.NewReplacer("127.0.0.1:8080", here),
		env: []string{"SUTRA_HTTP_LISTEN=" + here, "SUTRA_URL=http://" + here},
	}
	if err := os.CopyFS(filepath.Join(p.dir, "workers"), os.DirFS(filepath.Join(root(t), "examples", "workers"))); err != nil {
		t.Fatal(err)
	}
	p.read()
}

// TestTheOperatorsGuide does what docs/operators-guide.md says, on a server of its own.
func TestTheOperatorsGuide(t *testing.T) {
	needs(t, "bash", "curl")
	if *dialect != "postgres" {
		t.Skip("the operator's guide is for PostgreSQL")
	}
	server := alone(t).Server
	admin, err := server.Administrator(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := provision.Open(admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	one, two := address(t), address(t)
	p := &page{
		t: t, path: "docs/operators-guide.md", dir: t.TempDir(),
		swap: strings.NewReplacer("127.0.0.1:8081", one, "127.0.0.1:8082", two, "db.example", u.Host),
		sql: func(statement string) {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		},
	}
	p.read()
}

// TestTheReadme does what README.md says of a process in four calls, on what make run runs.
func TestTheReadme(t *testing.T) {
	needs(t, "bash", "curl")
	if *dialect != "sqlite" {
		t.Skip("make run is SQLite")
	}
	t.Parallel()
	here := address(t)
	p := &page{
		t: t, path: "README.md", dir: t.TempDir(), swap: strings.NewReplacer("127.0.0.1:8080", here),
		env: []string{"SUTRA_HTTP_LISTEN=" + here, "ORDER_EVENTS_URL=http://" + here + "/order-log"},
	}
	p.keep("$ sutra dev " + filepath.Join(root(t), "examples", "approval") + "\nlistening on http://" + here)
	p.read()
}
