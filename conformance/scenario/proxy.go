package scenario

import (
	"bytes"
	"net"
	"net/url"
	"slices"
	"sync"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Proxy stands between a replica and its database, or its broker, and holds back what the replica says. So a test stops a replica at a place of its
// choosing: between the claim of an instance and the commit of its step, say, with nothing planted in the database by hand.
type Proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	hold  [][]byte      // what begins to hold a connection: the words, and as SQL Server's clients write them; nil: nothing
	gate  chan struct{} // closed by Release
	conns map[net.Conn]struct{}
	held  int // connections that were ever kept back
	pumps sync.WaitGroup
}

// Proxy starts a proxy to the database of a fleet. It ends with the test.
func (f *Fleet) Proxy() *Proxy {
	f.t.Helper()
	u, err := url.Parse(f.Database)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.ProxyTo(provision.Detour{Listen: "127.0.0.1:0", Target: u.Host})
}

// ProxyTo starts a proxy to another server that a replica speaks to.
func (f *Fleet) ProxyTo(d provision.Detour) *Proxy {
	f.t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(f.t.Context(), "tcp", d.Listen)
	if err != nil {
		f.t.Fatal(err)
	}
	p := &Proxy{listener: l, target: d.Target, gate: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.pumps.Go(p.accept)
	f.t.Cleanup(func() {
		if err := p.close(); err != nil {
			f.t.Errorf("close the proxy: %v", err)
		}
	})
	return p
}

// Address is where the replica finds the server.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Hold keeps back, connection by connection, what the replica sends from the words on. Other connections go on.
func (p *Proxy) Hold(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = [][]byte{[]byte(words), wide(words)}
}

// wide is ASCII text in UTF-16, as the statements of SQL Server travel.
func wide(words string) []byte {
	var out []byte
	for _, b := range []byte(words) {
		out = append(out, b, 0)
	}
	return out
}

// Held is how many connections were kept back so far.
func (p *Proxy) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Release sends on what was kept back, and holds nothing any more.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = nil
	close(p.gate)
	p.gate = make(chan struct{})
}

// Cut drops every connection with what was kept back of it. New ones are let through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close() // the pumps see it
	}
	p.hold = nil
	close(p.gate)
	p.gate = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.target) //nolint:noctx // loopback, and closed with the proxy
		if err != nil {
			_ = client.Close() // the server is away: so says the proxy
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.pumps.Go(func() { p.pump(server, client, p.keep) })
		p.pumps.Go(func() { p.pump(client, server, nil) })
	}
}

// pump carries one direction until either end closes, and asks before it passes something on.
func (p *Proxy) pump(to, from net.Conn, ask func([]byte) <-chan struct{}) {
	defer p.forget(to, from)
	buffer := make([]byte, 256<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && ask != nil {
			if gate := ask(buffer[:n]); gate != nil {
				<-gate
			}
		}
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return // io.EOF, or closed
		}
	}
}

// keep answers the gate that these bytes have to wait at, or nil.
func (p *Proxy) keep(b []byte) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.hold, func(words []byte) bool { return bytes.Contains(b, words) }) {
		return nil
	}
	p.held++
	return p.gate
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // the other direction ends with this one
		delete(p.conns, c)
	}
}

func (p *Proxy) close() error {
	err := p.listener.Close()
	p.Cut()
	p.pumps.Wait()
	return err
}
