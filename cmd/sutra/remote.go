package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/client"
	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports/fault"
)

// remote gives a command the flags that say which server, and how to print.
type remote struct{ url, key, token *string }

func reach(cmd *cobra.Command) (remote, *bool) {
	server, ok := os.LookupEnv("SUTRA_URL")
	if !ok {
		server = "http://127.0.0.1:8080"
	}
	r := remote{
		url:   cmd.Flags().String("server", server, "address of a replica (SUTRA_URL)"),
		key:   cmd.Flags().String("key", "", "API key (SUTRA_KEY)"),
		token: cmd.Flags().String("token", "", "bearer token (SUTRA_TOKEN)"),
	}
	cmd.PreRunE = func(*cobra.Command, []string) error { return r.check() }
	return r, cmd.Flags().Bool("json", false, "print JSON")
}

// check refuses what no server can have as its address. It may hold a password, so it is not told.
func (r remote) check() error {
	u, err := url.Parse(*r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage{errors.New("the server's address does not read; use http://HOST:PORT or https://HOST, by --server or SUTRA_URL")}
	}
	return nil
}

// client proves who calls by a flag, else by the environment. Secrets are no defaults of flags, which the help would show.
func (r remote) client() *client.Client {
	key, token := *r.key, *r.token
	if key == "" && token == "" {
		key, token = os.Getenv("SUTRA_KEY"), os.Getenv("SUTRA_TOKEN")
	}
	by := client.Credentials{Key: key}
	if token != "" {
		by.Token = func(context.Context) (string, error) { return token, nil }
	}
	return client.New(*r.url, by)
}

// told turns a server's refusal into a coded fault, for the exit code; what is no refusal is a server that cannot be reached.
func told(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		f := &fault.Fault{Code: fault.Code(p.Code), Detail: p.Detail, Cause: err}
		for _, v := range p.Violations {
			if v.Detail != p.Detail {
				f.All = append(f.All, fault.Fault{Code: fault.Code(v.Code), Detail: v.Detail})
			}
		}
		return f
	}
	return fault.StoreUnavailable.With("the server does not answer: %w", err)
}

func instances() *cobra.Command {
	cmd := list("instances", "List instances, newest first", (*client.Client).Instances, [][2]string{
		{"status", "suspended, failed, completed, cancelled, errored"}, {"process", "process id"}, {"deployment", "deployment id"}, {"tenant", "tenant"},
	}, "INSTANCE\tPROCESS\tSTATUS\tCREATED\tUPDATED", func(i wire.Instance) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", i.ID, i.Process, i.Status, i.Created.Format(time.RFC3339), i.Updated.Format(time.RFC3339))
	})
	one := func(use, short string, do func(context.Context, *client.Client, string) (wire.Instance, error)) {
		sub := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
		r, _ := reach(sub)
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			i, err := do(cmd.Context(), r.client(), args[0])
			if err != nil {
				return told(err)
			}
			return show(cmd.OutOrStdout(), true, i, "")
		}
		cmd.AddCommand(sub)
	}
	one("show ID", "Say what an instance waits for, who holds it, what comes next", func(ctx context.Context, c *client.Client, id string) (wire.Instance, error) {
		return c.Instance(ctx, id)
	})
	one("cancel ID", "End an instance without compensation", func(ctx context.Context, c *client.Client, id string) (wire.Instance, error) {
		return c.Cancel(ctx, id)
	})
	one("resume ID", "Bring a FAILED instance back, with the event it failed at", func(ctx context.Context, c *client.Client, id string) (wire.Instance, error) {
		return c.Resume(ctx, id, "replay")
	})
	one("retry ID", "Make the next attempt of paused calls now; a FAILED instance does again what it failed at", func(ctx context.Context, c *client.Client, id string) (wire.Instance, error) {
		return c.RetryNow(ctx, id)
	})
	cmd.AddCommand(migrateInstances(), correctInstance())
	return cmd
}

func correctInstance() *cobra.Command {
	cmd := &cobra.Command{Use: "correct ID JSON", Short: "Write variables of an instance's process", Args: cobra.ExactArgs(2)}
	r, _ := reach(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !json.Valid([]byte(args[1])) {
			return usage{fmt.Errorf("%s is no JSON; variables are an object, as '{\"amount\": 3}'", args[1])}
		}
		i, err := r.client().Correct(cmd.Context(), args[0], json.RawMessage(args[1]))
		if err != nil {
			return told(err)
		}
		return show(cmd.OutOrStdout(), true, i, "")
	}
	return cmd
}

func audit() *cobra.Command {
	return list("audit", "List what operators did, newest first", (*client.Client).Audit, [][2]string{
		{"tenant", "tenant"},
		{"instance", "instance id"},
		{"actor", "who"},
		{"action", "cancel, resume, correct, retry, migrate, redrive, retry-task, deploy, undeploy"},
		{"since", "RFC 3339 time"},
		{"until", "RFC 3339 time"},
	}, "AT\tACTOR\tACTION\tTENANT\tINSTANCE\tSUBJECT\tDETAIL", func(a wire.Audit) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", a.At.Format(time.RFC3339), a.Actor, a.Action, a.Tenant, a.Instance, a.Subject, a.Detail)
	})
}

func tasks() *cobra.Command {
	cmd := list("tasks", "List external tasks that are parked, or with --terminal=true those without retries left", (*client.Client).Tasks, [][2]string{
		{"terminal", "true: only those without retries left"},
	}, "TASK\tTOPIC\tPROCESS\tINSTANCE\tRETRIES\tWORKER\tLAST ERROR", func(t wire.Task) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%s", t.ID, t.Topic, t.Process, t.Instance, t.Retries, t.WorkerID, t.LastError)
	})
	retry := &cobra.Command{Use: "retry ID", Short: "Give a task new attempts", Args: cobra.ExactArgs(1)}
	r, _ := reach(retry)
	retries := retry.Flags().Int("retries", 1, "how many")
	retry.RunE = func(cmd *cobra.Command, args []string) error {
		return told(r.client().RetryTask(cmd.Context(), args[0], *retries))
	}
	cmd.AddCommand(retry)
	return cmd
}

func outbox() *cobra.Command {
	cmd := list("outbox", "List emissions that wait to be sent, or with --poisoned=true those given up", (*client.Client).Outbox, [][2]string{
		{"poisoned", "true: only those given up"},
	}, "EMISSION\tTENANT\tDESTINATION\tATTEMPTS\tNEXT\tLAST ERROR", func(e wire.Emission) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", e.ID, e.Tenant, e.Destination, e.Attempts, e.Next.Format(time.RFC3339), e.LastError)
	})
	redrive := &cobra.Command{Use: "redrive TENANT ID", Short: "Make an emission that was given up due again", Args: cobra.ExactArgs(2)}
	r, _ := reach(redrive)
	redrive.RunE = func(cmd *cobra.Command, args []string) error {
		return told(r.client().Redrive(cmd.Context(), args[0], args[1]))
	}
	cmd.AddCommand(redrive)
	return cmd
}

// list is a command that reads one page of a list and prints it as a table, or as JSON with the cursor of the next page.
func list[T any](use, short string, read func(*client.Client, context.Context, url.Values) (wire.Page[T], error), filters [][2]string, head string, line func(T) string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	r, asJSON := reach(cmd)
	given := map[string]*string{}
	for _, f := range append(filters, [2]string{"after", "cursor: next, in the JSON of the page before"}, [2]string{"limit", "at most this many (50)"}) {
		given[f[0]] = cmd.Flags().String(f[0], "", f[1])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ask := query(given)
		page, err := read(r.client(), cmd.Context(), ask)
		for err == nil && len(page.Items) == 0 && page.Next != "" { // the filters found nothing in what one request reads
			ask.Set("after", page.Next)
			page, err = read(r.client(), cmd.Context(), ask)
		}
		if err != nil {
			return told(err)
		}
		if *asJSON {
			return show(cmd.OutOrStdout(), true, page, "")
		}
		return table(cmd.OutOrStdout(), false, page.Items, head, line)
	}
	return cmd
}

func leases() *cobra.Command {
	cmd := &cobra.Command{Use: "leases", Short: "Say who leads each role of the fleet, and until when", Args: cobra.NoArgs}
	r, asJSON := reach(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := r.client().Leases(cmd.Context())
		if err != nil {
			return told(err)
		}
		return table(cmd.OutOrStdout(), *asJSON, all, "ROLE\tLEADER\tTERM\tUNTIL", func(l wire.Lease) string {
			return fmt.Sprintf("%s\t%s\t%d\t%s", l.Role, l.Holder, l.Term, l.Expires.Format(time.RFC3339))
		})
	}
	return cmd
}

// query is the filters that were given.
func query(filters map[string]*string) url.Values {
	q := url.Values{}
	for name, value := range filters {
		if *value != "" {
			q.Set(name, *value)
		}
	}
	return q
}

func show(w io.Writer, asJSON bool, v any, text string) error {
	if !asJSON {
		_, err := io.WriteString(w, text)
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func table[T any](w io.Writer, asJSON bool, items []T, head string, line func(T) string) error {
	if asJSON {
		return show(w, true, items, "")
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if _, err := fmt.Fprintln(t, head); err != nil {
		return err
	}
	for _, item := range items {
		if _, err := fmt.Fprintln(t, line(item)); err != nil {
			return err
		}
	}
	return t.Flush()
}
