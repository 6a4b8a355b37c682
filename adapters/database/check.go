package database

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Level is how a finding is meant.
type Level string

// The levels of a finding.
const (
	Fine    Level = "ok"
	Warning Level = "warn"
	Failing Level = "fail" // the engine cannot rely on this database
)

// Finding is what one check of a database saw.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	Seen   string `json:"seen"`
	Advice string `json:"advice,omitempty"` // what to change; empty: nothing
}

// Examination is how a database is looked at.
type Examination struct {
	Config
	Old   time.Duration    // what is open or due for longer is worth a finding; 0: 5 min
	Local func() time.Time // this machine's clock; nil: it
}

// preflight runs the checks of the boot, and refuses what the engine cannot rely on.
func (src source) preflight(ctx context.Context) error {
	if src.memory() {
		return nil
	}
	p := patient{source: src, age: old, pool: 1}
	leave, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for _, c := range src.dialect.Checks {
		if !c.Boot {
			continue
		}
		f, err := p.check(ctx, c)
		switch {
		case err != nil:
			return coded(src.troubled("read "+c.Name, err))
		case f.Level == Failing:
			return fault.SettingRefused.With("%s: %s; %s", f.Check, f.Seen, f.Advice)
		case f.Level == Warning:
			src.log.WarnContext(ctx, "a setting of the database is not what it should be", "setting", f.Check, "value", f.Seen, "advice", f.Advice)
		}
	}
	return nil
}

// old is the age from which something that passes by itself is worth a finding.
const old = 5 * time.Minute

// Examine looks at all that can be wrong with a database, and changes nothing. The error is trouble: it could not be looked at. A database
// that is not shared has to be free.
func Examine(ctx context.Context, x Examination) ([]Finding, error) {
	src, err := x.source()
	if err != nil {
		return nil, err
	}
	if src.memory() {
		return nil, fault.PropertyInvalid.With("sutra.datasource.url is not set: a database in memory lives in its process alone; name the one to look at")
	}
	if x.Beside == nil {
		free, err := src.exclusive(ctx)
		if err != nil {
			return nil, err
		}
		defer free() //nolint:errcheck // the lock ends with its file
	}
	p := patient{source: src, age: x.Old, pool: x.conns()}
	if p.age == 0 {
		p.age = old
	}
	leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p.looks(ctx)
	p.schema(ctx)
	p.place()
	if x.Local == nil {
		x.Local = system.Now
	}
	p.clock(ctx, x.Local)
	p.backlog(ctx, x.Config)
	return p.found, nil
}

// patient is a database that is looked at.
type patient struct {
	source
	age   time.Duration
	pool  int
	db    *sql.DB
	found []Finding
}

func (p *patient) enter(ctx context.Context) (leave func(), err error) {
	p.db, err = sql.Open(p.dialect.Driver, p.dsn)
	if err == nil {
		err = p.db.PingContext(ctx)
	}
	if err != nil {
		return nil, coded(p.troubled("open", err))
	}
	return func() { _ = p.db.Close() }, nil
}

func (p *patient) say(check string, level Level, seen, advice string) {
	p.found = append(p.found, Finding{check, level, seen, advice})
}

// blind says what could not be looked at.
func (p *patient) blind(check string, err error, advice string) {
	p.say(check, Warning, "it cannot be looked at: "+err.Error(), advice)
}

// looks runs what the dialect wants to be looked at.
func (p *patient) looks(ctx context.Context) {
	for _, c := range p.dialect.Checks {
		f, err := p.check(ctx, c)
		if err != nil {
			p.blind(c.Name, err, c.Advice)
			continue
		}
		p.found = append(p.found, f)
	}
}

func (p *patient) check(ctx context.Context, c dialects.Check) (Finding, error) {
	seen, err := p.texts(ctx, c.Text(int(p.age/time.Second), p.pool))
	if err != nil {
		return Finding{}, err
	}
	wrong, err := c.Wrong(seen)
	f := Finding{Check: c.Name, Level: Fine, Seen: strings.Join(seen, "; ")}
	if f.Seen == "" {
		f.Seen = "nothing to say"
	}
	if len(wrong) == 0 {
		return f, err
	}
	f.Level, f.Seen, f.Advice = Warning, strings.Join(wrong, "; "), c.Advice
	if c.Fail {
		f.Level = Failing
	}
	return f, err
}

// texts are the rows of a query, their values with blanks between them.
func (p *patient) texts(ctx context.Context, query string) (out []string, err error) {
	rows, err := p.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// clock compares this machine's clock with the database's: the engine goes by the latter, people and brokers by both.
func (p *patient) clock(ctx context.Context, local func() time.Time) {
	const check, most = "clock", time.Second
	if !p.dialect.Caps.DatabaseTime {
		p.say(check, Fine, "the database has none of its own", "")
		return
	}
	var said time.Time
	before := local()
	text := p.statements["store_now"].Text(p.dialect, 0, 1, func(string) bool { return false })
	if err := p.db.QueryRowContext(ctx, text.SQL).Scan(&said); err != nil {
		p.blind(check, err, "")
		return
	}
	took := local().Sub(before)
	off := said.Sub(before.Add(took / 2)).Round(time.Millisecond)
	seen := fmt.Sprintf("the database's is %s ahead of this machine's, give or take %s", off, (took / 2).Round(time.Millisecond))
	if off < 0 {
		seen = fmt.Sprintf("the database's is %s behind this machine's, give or take %s", -off, (took / 2).Round(time.Millisecond))
	}
	if off.Abs() <= most+took {
		p.say(check, Fine, seen, "")
		return
	}
	p.say(check, Warning, seen, "run NTP on both machines: timers go by the database's clock, ids and logs by this one's")
}

// place looks at the file system of a database that is a file.
func (p *patient) place() {
	if p.dialect.File == nil {
		return
	}
	const check, advice = "file system", "put the file on a disk of this machine: locks and shared memory do not hold over a network, and the file breaks"
	dir, err := filepath.Abs(filepath.Dir(p.dialect.File(p.url)))
	if err != nil {
		p.blind(check, err, advice)
		return
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		p.say(check, Fine, "this system does not say; it has to be a disk of this machine", "")
		return
	}
	kind := mountedAs(string(mounts), dir)
	if slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "afs", "lustre"}, kind) {
		p.say(check, Failing, dir+" is on "+kind, advice)
		return
	}
	p.say(check, Fine, dir+" is on "+kind, "")
}

// mountedAs finds the kind of the file system that a folder is on: the last mount over its longest prefix (proc(5), mountinfo).
func mountedAs(mountinfo, dir string) string {
	kind, longest := "", -1
	for line := range strings.Lines(mountinfo) {
		mount, rest, _ := strings.Cut(line, " - ")
		fields, of := strings.Fields(mount), strings.Fields(rest)
		if len(fields) < 5 || len(of) == 0 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		under := strings.TrimSuffix(point, "/") + "/"
		if strings.HasPrefix(dir+"/", under) && len(under) >= longest {
			kind, longest = of[0], len(under)
		}
	}
	return kind
}

// backlog looks at what waits for the fleet, and at what waits for people.
func (p *patient) backlog(ctx context.Context, c Config) {
	s := &Store{book: p.book, log: p.log, patience: p.patience, url: p.url, clock: c.Clock}
	defer s.Close() //nolint:errcheck // nothing was written
	err := s.connect(ctx, p.source, Config{MaxConns: 1})
	if err == nil && s.clock == nil {
		err = s.discipline(ctx)
	}
	if err != nil {
		p.blind("backlog", err, "")
		return
	}
	b, err := s.Views().Backlog(ctx)
	if err != nil {
		p.blind("backlog", err, "run sutra migrate up")
		return
	}
	before := len(p.found)
	p.overdue(s.now(), b)
	p.given(b)
	if len(p.found) == before {
		p.say("backlog", Fine, fmt.Sprintf("%d instances wait; due: %d messages, %d emissions, %d timers, %d tasks",
			b.InstancesSuspended, b.InboxDue, b.OutboxDue, b.TimersOverdue, b.TasksFetchable), "")
	}
}

// overdue says what is due and not done for long.
func (p *patient) overdue(now time.Time, b ports.Backlog) {
	const fleet = "see that replicas run and are ready (sutra health), then their logs; more of them help where all are busy"
	for _, due := range []struct {
		what   string
		n      int64
		oldest time.Time
		advice string
	}{
		{"messages are due", b.InboxDue, b.OldestInbox, fleet},
		{"emissions are due", b.OutboxDue, b.OldestOutbox, "see whether the receivers answer (sutra outbox says the last error); else " + fleet},
		{"timers are overdue", b.TimersOverdue, b.OldestTimer, fleet},
		{"tasks wait for a worker", b.TasksFetchable, b.OldestTask, "see that workers fetch their topics (sutra tasks)"},
		{"instances are claimed", b.ClaimsHeld, b.OldestClaim, "a replica is stuck in them: the sweep frees them after sutra.instance.claim-timeout; if it does not, no replica leads it (sutra leases)"},
	} {
		if since := now.Sub(due.oldest); due.n > 0 && since > p.age {
			p.say("backlog", Warning, fmt.Sprintf("%d %s, the oldest for %s", due.n, due.what, since.Round(time.Second)), due.advice)
		}
	}
}

// given says what was given up and waits for people.
func (p *patient) given(b ports.Backlog) {
	for _, up := range []struct {
		n            int64
		what, advice string
	}{
		{b.InstancesFailed, "instances are FAILED", "sutra instances --status failed; put right what made them fail, then sutra instances resume ID or migrate --resume"},
		{b.OutboxPoisoned, "emissions are poisoned", "sutra outbox --poisoned=true; then sutra outbox redrive TENANT ID"},
		{b.InboxDead, "messages are dead", "nobody took them within their time, or they could not be taken: their rows say why (sutra_inbox.error)"},
		{b.TasksTerminal, "tasks are exhausted", "sutra tasks --terminal=true; then sutra tasks retry ID"},
	} {
		if up.n > 0 {
			p.say("backlog", Warning, fmt.Sprintf("%d %s", up.n, up.what), up.advice)
		}
	}
}
