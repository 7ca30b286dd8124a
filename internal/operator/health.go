package operator

import (
	"context"
	"database/sql"
	"fmt"

	"loopbroker"
	"loopbroker/tsql"
)

// The words of Health.Status.
const (
	Green  = "green"
	Yellow = "yellow"
	Red    = "red"
)

// Health is the broker's health in one row.
type Health struct {
	Status         string `json:"status"`
	Reason         string `json:"reason,omitempty"`
	WorkersAlive   int64  `json:"workers_alive"`
	Due            int64  `json:"due"`
	InFlight       int64  `json:"in_flight"`
	OldestDueAgeMS int64  `json:"oldest_due_age_ms"`
	DeadLetters    int64  `json:"dead_letters"`
	OpenBreakers   int64  `json:"open_breakers"`
}

// Health reads it.
func (o *Operator) Health(ctx context.Context) (Health, error) {
	var h Health
	found := false
	err := o.query(ctx, tsql.StatementHealth, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&h.Status, &h.Reason, &h.WorkersAlive, &h.Due, &h.InFlight, &h.OldestDueAgeMS, &h.DeadLetters, &h.OpenBreakers)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: api_broker_setting has no row", loopbroker.ErrSchema)
	}
	return h, err
}

// HostState is what one worker says about one host.
type HostState struct {
	Host     string `json:"host"`
	Worker   string `json:"worker"`
	State    string `json:"state"`
	Failures int    `json:"failures"`
	InFlight int    `json:"in_flight"`
	OpenMS   int64  `json:"open_ms"`
	AgeMS    int64  `json:"age_ms"`
}

// HostStates lists them by host.
func (o *Operator) HostStates(ctx context.Context) ([]HostState, error) {
	var out []HostState
	err := o.query(ctx, tsql.StatementHostStateList, func(rows *sql.Rows) error {
		var h HostState
		err := rows.Scan(&h.Host, &h.Worker, &h.State, &h.Failures, &h.InFlight, &h.OpenMS, &h.AgeMS)
		out = append(out, h)
		return err
	})
	return out, err
}
