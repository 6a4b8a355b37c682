package scenario_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// Clients whose replica dies cannot know whether their order was taken. The kill is repeated until some of them had been: those
// orders were committed, and their answers lost.
func TestKillBetweenCommitAndReplyStartsOnce(t *testing.T) {
	const number, rounds = 64, 10
	f, crew := parts(t, nil, "b")
	b := crew[0]
	b.Deploy(orders)
	committed, total := 0, 0
	for round := 0; round < rounds && committed == 0; round++ {
		a := b
		if *dialect != "sqlite" {
			a = f.Start(fmt.Sprintf("a%d", round))
		}
		var mu sync.Mutex
		var lost []int
		sends := make(chan struct{})
		go func() {
			defer close(sends)
			f.Flood(number, func(i int) {
				if _, err := a.Send(start(total + i)); err != nil {
					mu.Lock()
					defer mu.Unlock()
					lost = append(lost, total+i)
				}
			})
		}()
		time.Sleep(time.Duration(20+10*round) * time.Millisecond)
		a.Kill()
		<-sends
		b = heir(f, a, b)
		total += number
		for _, i := range lost {
			if answer := b.MustSend(start(i)); answer.Duplicate() {
				committed++
			}
		}
	}
	if committed == 0 {
		t.Fatalf("in %d rounds no kill fell between a commit and its reply", rounds)
	}
	t.Logf("%d orders had been committed without a reply", committed)
	each(total, func(i int) {
		if answer, err := b.Insist(start(i)); err != nil || !answer.Good() {
			t.Errorf("order %d: got %s, %v; want it known", i, answer, err)
		}
	})
	if got := len(b.Instances("")); got != total {
		t.Errorf("got %d instances, want %d", got, total)
	}
}

// Letters are accepted before they are applied. Their replica is stopped in between, and killed.
func TestKillBetweenInboxAndInstanceLosesNoMessage(t *testing.T) {
	const number = 50
	f := fleet(t, nil)
	b := f.Start("b")
	b.Deploy(orders)
	park(t, b, number)

	p := f.Proxy()
	a := f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(p), "sutra.datasource.max-connections": "100"}).AwaitReady()
	b.Pause() // so that a takes the letters up itself
	p.Hold(commits)
	for i := 1; i <= number; i++ {
		if answer := a.MustSend(letter(i)); answer.Status != http.StatusAccepted {
			t.Errorf("letter %d: got %s, want 202", i, answer)
		}
	}
	a.Kill()
	p.Cut()
	killed := time.Now()
	b.Continue()
	wantEnded(t, f, b, number)
	t.Logf("b had applied all %d letters %v after the kill; recovery after 2 s, claim timeout 4 s", number, time.Since(killed).Round(10*time.Millisecond))
	wantShippedOnce(t, f, number)
}

// As above with one process, which is killed as soon as it has accepted everything.
func TestKillAfterAcceptanceLosesNoMessage(t *testing.T) {
	const number, rounds = 200, 10
	f, crew := parts(t, nil, "a0")
	a := crew[0]
	a.Deploy(orders)
	pending, total := 0, 0
	for round := 1; round <= rounds && pending == 0; round++ {
		each(number, func(i int) {
			if answer, err := a.Insist(start(total + i)); err != nil || !answer.Good() {
				t.Errorf("order %d: got %s, %v; want it started", total+i, answer, err)
			}
		})
		f.Flood(number, func(i int) {
			if answer, err := a.Insist(letter(total + i)); err != nil || answer.Status != http.StatusAccepted {
				t.Errorf("letter %d: got %s, %v; want 202", total+i, answer, err)
			}
		})
		a.Kill()
		total += number
		ledger := f.Ledger()
		pending = ledger.Count("SELECT COUNT(*) FROM sutra_inbox WHERE state = 'pending'")
		ledger.Close()
		a = f.Start(fmt.Sprintf("a%d", round))
	}
	if pending == 0 {
		t.Fatalf("in %d rounds no kill fell between acceptance and application", rounds)
	}
	t.Logf("%d of %d letters were accepted and not applied when their process was killed", pending, total)
	wantEnded(t, f, a, total)
	wantShipped(t, f, total, rounds)
}

// A kill in the middle of a send is the one place where an emission arrives twice: under the same key.
func TestKillInMidSendDeliversAgainUnderTheSameKey(t *testing.T) {
	const number = 20
	f, crew := parts(t, nil, "a")
	a := crew[0]
	a.Deploy(orders)
	park(t, a, number)
	f.Receiver.Answer(0, time.Second)
	for i := 1; i <= number; i++ {
		a.MustSend(decide(i))
	}
	f.Eventually("some sends are under way", func() error {
		if len(f.Receiver.Deliveries()) == 0 {
			return fmt.Errorf("none arrived")
		}
		return nil
	})
	a.Kill()
	killed := time.Now()
	f.Receiver.Answer(0, 0)
	b := f.Start("b")
	wantEnded(t, f, b, number)
	f.Eventually("the outbox is empty", func() error {
		if n := len(list[wire.Emission](t, b, "/admin/outbox")); n != 0 {
			return fmt.Errorf("%d rows are left", n)
		}
		return nil
	})
	t.Logf("the outbox was empty %v after the kill; the claim timeout is 4 s", time.Since(killed).Round(10*time.Millisecond))
	twice := 0
	for key, times := range f.Receiver.Deliveries() {
		if times > 2 {
			t.Errorf("emission %s arrived %d times, want at most twice", key, times)
		}
		if times == 2 {
			twice++
		}
	}
	if got := len(f.Receiver.Deliveries()); got != number {
		t.Errorf("got %d emissions, want %d", got, number)
	}
	t.Logf("%d emissions were under way at the kill and arrived twice", twice)
}

func letter(n int) scenario.Message {
	return scenario.Message{Channel: "letter", Event: fmt.Sprintf("letter-%d", n), Body: order{n}}
}
