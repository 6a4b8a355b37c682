package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"github.com/sutra-engine/sutra/conformance/process"
)

// lifetime ends a container whose tests could not.
const lifetime = 3600 // seconds

// container is one server in Docker.
type container struct {
	pool     *dockertest.Pool
	resource *dockertest.Resource
}

func inDocker(ctx context.Context, e engine) (Source, error) {
	pool, err := dockertest.NewPool("")
	if err == nil {
		err = pool.Client.PingWithContext(ctx)
	}
	if err != nil {
		return Source{}, fmt.Errorf("no docker: %w", err)
	}
	return Source{Dialect: e.name, Where: "in Docker, " + e.image, start: func(ctx context.Context) (*Server, error) {
		return contain(ctx, pool, e)
	}}, nil
}

func contain(ctx context.Context, pool *dockertest.Pool, e engine) (*Server, error) {
	port, err := process.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	repository, tag, _ := strings.Cut(e.image, ":")
	password := random(16) + "Aa1!"
	resource, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository,
		Tag:        tag,
		Env:        e.environ(password),
		// A port that is named stays the same over a restart.
		PortBindings: map[docker.Port][]docker.PortBinding{docker.Port(e.port): {{HostIP: "127.0.0.1", HostPort: strconv.Itoa(port)}}},
	}, func(c *docker.HostConfig) { c.AutoRemove = false })
	if err != nil {
		return nil, err
	}
	if err := resource.Expire(lifetime); err != nil {
		return nil, err
	}
	return &Server{
		Dialect: e.name,
		engine:  e,
		host:    &container{pool: pool, resource: resource},
		admin:   &url.URL{Scheme: e.name, User: url.UserPassword(e.admin, password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/"},
	}, nil
}

func (c *container) id() string { return c.resource.Container.ID }

func (c *container) Pause() error  { return c.pool.Client.PauseContainer(c.id()) }
func (c *container) Resume() error { return c.pool.Client.UnpauseContainer(c.id()) }

func (c *container) Kill() error {
	return c.pool.Client.KillContainer(docker.KillContainerOptions{ID: c.id()})
}

func (c *container) Stop(ctx context.Context) error {
	err := c.pool.Client.StopContainerWithContext(c.id(), uint(patience.Seconds()), ctx)
	if _, stopped := errors.AsType[*docker.ContainerNotRunning](err); stopped {
		return nil
	}
	return err
}

func (c *container) Start(ctx context.Context) error {
	return c.pool.Client.StartContainerWithContext(c.id(), nil, ctx)
}

func (c *container) Close() error { return c.pool.Purge(c.resource) }
