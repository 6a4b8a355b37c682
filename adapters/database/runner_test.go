package database

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// A context that ends in the middle of a set makes it a timeout, not a refusal.
func TestRowsThatAContextClosesSayWhy(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.QueryContext(ctx, "SELECT 1 UNION ALL SELECT 2") //nolint:sqlclosecheck // it is, below
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	_, err = readSet(rows, func(r row) error {
		cancel()
		for rows.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return r.Scan(new(int))
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was cancelled", err)
	}
}
