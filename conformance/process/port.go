package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort finds a port of the loopback. It looks below the range that outgoing connections take theirs from, so that the port is still free after a restart.
func FreePort(ctx context.Context) (int, error) {
	var listen net.ListenConfig
	var last error
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free port: %w", last)
}
