package loopback

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/internal/brokercall"
	"loopbroker/tsql"
)

// Severity says how bad a finding is.
type Severity uint8

const (
	// OK means that the check found what it should.
	OK Severity = iota

	// Warning means that requests can leave, and that something is not as it should
	// be.
	Warning

	// Failure means that some requests cannot leave.
	Failure
)

// String returns "ok", "warning" or "failure".
func (s Severity) String() string {
	switch s {
	case OK:
		return "ok"
	case Warning:
		return "warning"
	default:
		return "failure"
	}
}

// MarshalText returns the word that String returns.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is the result of one check.
type Finding struct {
	// Check names what was looked at.
	Check string `json:"check"`

	// Severity says how bad it is.
	Severity Severity `json:"severity"`

	// Detail says what was found.
	Detail string `json:"detail"`

	// Repair says what to do about it; empty if Severity is OK.
	Repair string `json:"repair,omitempty"`
}

// Findings are the results of all checks, in their order.
type Findings []Finding

// Err returns nil if no finding is a failure, or else an error that wraps
// loopbroker.ErrNoLoopback and names all that are.
func (f Findings) Err() error {
	var errs []error
	for _, one := range f {
		if one.Severity == Failure {
			errs = append(errs, fmt.Errorf("%s: %s; %s", one.Check, one.Detail, one.Repair))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", loopbroker.ErrNoLoopback, errors.Join(errs...))
}

// Link is what the server knows about the linked server.
type Link struct {
	// Name, Provider, DataSource and ProviderString are as they were set.
	Name, Provider, DataSource, ProviderString string

	// RPCOut, DataAccess and Promotion are the options of these names.
	RPCOut, DataAccess, Promotion bool

	// ConnectTimeout and QueryTimeout are 0 if the server's defaults hold.
	ConnectTimeout, QueryTimeout time.Duration
}

// ReadLink returns the linked server that the settings name, or ErrNoLoopback if
// there is none.
func ReadLink(ctx context.Context, db *sql.DB, schema tsql.Schema) (Link, error) {
	var l Link
	var connect, query int64
	err := db.QueryRowContext(ctx, schema.Statement(tsql.StatementLink)).Scan(
		&l.Name, &l.Provider, &l.DataSource, &l.ProviderString, &l.RPCOut, &l.DataAccess, &l.Promotion, &connect, &query)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Link{}, fmt.Errorf("read link: %w: the settings name no linked server that is there", loopbroker.ErrNoLoopback)
	case err != nil:
		return Link{}, fmt.Errorf("read link: %w", tsql.WrapError(err))
	}
	l.ConnectTimeout, l.QueryTimeout = time.Duration(connect)*time.Second, time.Duration(query)*time.Second
	return l, nil
}

// maxLinkTimeout is how long the link may take before a caller has waited longer
// than it was told: an error must come within 3 s.
const maxLinkTimeout = 3 * time.Second

// setup is the repair of most findings.
const setup = "run sp_api_broker_setup again"

// Check returns the findings about the link's options.
func (l Link) Check() Findings {
	out := Findings{{Check: "linked server", Detail: fmt.Sprintf("%s leads to %s by %s", l.Name, l.DataSource, l.Provider)}}
	add := func(ok bool, check string, bad Severity, good, detail, repair string) {
		if ok {
			out = append(out, Finding{Check: check, Detail: good})
			return
		}
		out = append(out, Finding{Check: check, Severity: bad, Detail: detail, Repair: repair})
	}
	add(l.RPCOut, "rpc out", Failure, "on", "off: calls are refused with error 7411", setup)
	add(!l.Promotion, "remote proc transaction promotion", Failure, "off",
		"on: a call joins the caller's transaction and fails with error 7391 or 3910", setup)
	add(!l.DataAccess, "data access", Warning, "off", "on: mapped logins can reach tables through the link", setup)
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"connect timeout", l.ConnectTimeout}, {"query timeout", l.QueryTimeout}} {
		detail := fmt.Sprintf("%s: a caller that blocks itself waits that long", t.value)
		if t.value == 0 {
			detail = "not set: a caller that blocks itself waits for the server's default, up to 600s"
		}
		add(t.value > 0 && t.value <= maxLinkTimeout, t.name, Warning, t.value.String(), detail, setup)
	}
	provider := strings.ToLower(l.ProviderString)
	add(strings.Contains(provider, "encrypt="), "encryption", Warning, "explicit",
		"left to the provider, whose default changed between versions", setup)
	return out
}

// DoctorType is the type of the requests that Doctor makes. No worker serves it,
// and they expire at once.
const DoctorType = "doctor"

// levels are the isolation levels that a caller may be in.
var levels = []sql.IsolationLevel{
	sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable, sql.LevelSnapshot,
}

// Doctor checks the server and the link's options, and proves that a request survives
// a rollback at every isolation level for the login of db, and that an impersonated
// call is refused with an error that says so. An error means that it could not
// look; what it found wrong is in the findings.
func Doctor(ctx context.Context, db *sql.DB, schema tsql.Schema) (Findings, error) {
	out, err := diagnoseServer(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	link, err := ReadLink(ctx, db, schema)
	switch {
	case errors.Is(err, loopbroker.ErrNoLoopback):
		return append(out, Finding{
			Check: "linked server", Severity: Failure, Detail: "the settings name no linked server that is there",
			Repair: "run sp_api_broker_setup with a login of least rights",
		}), nil
	case err != nil:
		return nil, err
	}
	out = append(out, link.Check()...)
	for _, level := range levels {
		f, err := survives(ctx, db, schema, level)
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
	f, err := impersonated(ctx, db, schema)
	if err != nil {
		return out, err
	}
	return append(out, f), nil
}

// diagnoseServer says what the server and the database are, and who is mapped.
func diagnoseServer(ctx context.Context, db *sql.DB, schema tsql.Schema) (Findings, error) {
	var (
		version, edition, login         string
		major, level, mapped, everybody int
		rcsi, snapshot                  bool
	)
	err := db.QueryRowContext(ctx, schema.Statement(tsql.StatementDiagnosis)).Scan(
		&version, &edition, &major, &level, &rcsi, &snapshot, &login, &mapped, &everybody)
	if err != nil {
		return nil, fmt.Errorf("statements/%s.sql: %w", tsql.StatementDiagnosis, tsql.WrapError(err))
	}
	onOff := map[bool]string{true: "on", false: "off"}
	out := Findings{
		{Check: "version", Detail: fmt.Sprintf("%s, %s", version, edition)},
		{Check: "compatibility level", Detail: strconv.Itoa(level)},
		{Check: "READ_COMMITTED_SNAPSHOT", Detail: onOff[rcsi] + "; both work"},
		{Check: "ALLOW_SNAPSHOT_ISOLATION", Detail: onOff[snapshot] + "; both work"},
		{Check: "mapping", Detail: login + " is mapped"},
		{Check: "default mapping", Detail: "none: only named logins pass"},
	}
	if major < tsql.MinMajorVersion {
		out[0].Severity, out[0].Repair = Failure, "use SQL Server 2017 or later"
	}
	if level < tsql.MinCompatibilityLevel {
		out[1].Severity, out[1].Repair = Failure, fmt.Sprintf("ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = %d or more", tsql.MinCompatibilityLevel)
	}
	if mapped == 0 {
		out[4].Severity, out[4].Detail, out[4].Repair = Failure, login+" has no mapping", "run sp_api_broker_setup with @local_login"
	}
	if everybody > 0 {
		out[5].Severity, out[5].Detail = Warning, "every login passes, not only those that are named"
		out[5].Repair = "EXEC sys.sp_droplinkedsrvlogin @rmtsrvname = the link, @locallogin = NULL"
	}
	return out, nil
}

// The errors of a call in a database-scoped context, and of a login that may not
// make one.
const (
	refusedImpersonation = 54002
	mayNotImpersonate    = 15517
)

// impersonated calls as a database user. The linked server cannot be used so, and
// the caller must be told.
func impersonated(ctx context.Context, db *sql.DB, schema tsql.Schema) (Finding, error) {
	f := Finding{Check: "an impersonated call is refused"}
	var number int
	var message string
	if err := db.QueryRowContext(ctx, schema.Statement(tsql.StatementImpersonated)).Scan(&number, &message); err != nil {
		return f, fmt.Errorf("statements/%s.sql: %w", tsql.StatementImpersonated, tsql.WrapError(err))
	}
	switch number {
	case refusedImpersonation:
		f.Detail = "with error 54002, which says why"
	case mayNotImpersonate:
		f.Severity, f.Detail, f.Repair = Warning, "not tried: this login may not impersonate dbo", "run it as db_owner"
	default:
		f.Severity, f.Detail, f.Repair = Failure, fmt.Sprintf("got error %d: %s", number, message), "run loopbroker deploy, and loopbroker verify"
	}
	return f, nil
}

// survives sends a request from a transaction of the level, rolls that back and
// looks whether the request is there.
func survives(ctx context.Context, db *sql.DB, schema tsql.Schema, level sql.IsolationLevel) (Finding, error) {
	f := Finding{Check: "request survives a rollback in " + strings.ToUpper(level.String())}
	conn, err := db.Conn(ctx)
	if err != nil {
		return f, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	defer func() {                      // its level would go with it
		if tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}); err == nil {
			_ = tx.Rollback() // the session is at that level now
		}
	}()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return f, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has been rolled back unless there was an error before

	request := loopbroker.Request{Type: DoctorType, JSON: "{}", Lane: loopbroker.LaneLow, MaxAttempts: 1, Expires: time.Millisecond}
	id, err := NewSender(db, schema).SendTx(ctx, tx, request)
	if err != nil {
		if ctx.Err() != nil {
			return f, err
		}
		return diagnose(f, level, err), nil
	}
	if err := tx.Rollback(); err != nil {
		return f, fmt.Errorf("roll back: %w", err)
	}
	_, err = brokercall.Read(ctx, db, schema, id)
	switch {
	case errors.Is(err, loopbroker.ErrUnknownRequest):
		f.Severity, f.Detail = Failure, fmt.Sprintf("request %d went with the transaction", id)
		f.Repair = "turn the option remote proc transaction promotion off: " + setup
	case err != nil:
		return f, err
	default:
		f.Detail = fmt.Sprintf("request %d is there", id)
	}
	return f, nil
}

// snapshotNotAllowed is the number of the error that says that a database has not allowed
// snapshot isolation.
const snapshotNotAllowed = 3952

// repairs says what to do about errors of the link, by their numbers.
var repairs = map[int32]string{
	7201:  "allow remote access: sp_configure 'remote access'",
	7202:  setup,
	7303:  "check the login's password, the address and the encryption of the link, and " + setup,
	7391:  "turn the option remote proc transaction promotion off: " + setup,
	3910:  "turn the option remote proc transaction promotion off: " + setup,
	7411:  "turn the option rpc out on: " + setup,
	7416:  "map this login: run sp_api_broker_setup with @local_login",
	7437:  "map the impersonated login: run sp_api_broker_setup with @local_login",
	15274: "call without a database-scoped impersonation",
	18456: "check the password of the link's login: " + setup,
	54072: "run it as db_owner, or permit the job type doctor",
	229:   "grant the link's login the role api_broker_loopback",
}

// diagnose turns the error of a send into a finding.
func diagnose(f Finding, level sql.IsolationLevel, err error) Finding {
	f.Severity, f.Detail, f.Repair = Failure, err.Error(), setup
	numbers := errorNumbers(err)
	if level == sql.LevelSnapshot && slices.Contains(numbers, snapshotNotAllowed) {
		return Finding{Check: f.Check, Detail: "snapshot isolation is off in this database, so there are no such callers"}
	}
	for _, number := range numbers {
		if repair, ok := repairs[number]; ok {
			f.Repair = repair
			break
		}
	}
	return f
}

// caught is how the procedures report an error that they caught.
var caught = regexp.MustCompile(`\b[Ee]rror (\d{1,9}):`)

// errorNumbers returns the numbers that an error tells: the server's, or those that
// a procedure caught and put into its @error.
func errorNumbers(err error) []int32 {
	var out []int32
	var server mssql.Error
	if errors.As(err, &server) {
		for _, e := range server.All {
			out = append(out, e.Number)
		}
		return append(out, server.Number)
	}
	for _, match := range caught.FindAllStringSubmatch(err.Error(), -1) {
		if n, err := strconv.ParseInt(match[1], 10, 32); err == nil {
			out = append(out, int32(n))
		}
	}
	return out
}
