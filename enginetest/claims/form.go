package claims

import (
	"fmt"
	"strings"
)

// Form is a way to claim rows in T-SQL.
type Form int

// The forms of a claim.
const (
	// Mixed takes one of the others for each claim.
	Mixed Form = iota
	// UpdateCTE is UPDATE of a common table expression with TOP and ORDER BY, with
	// OUTPUT.
	UpdateCTE
	// UpdateTop is UPDATE TOP with OUTPUT.
	UpdateTop
	// DeleteTop is DELETE TOP with OUTPUT.
	DeleteTop
	// Select is SELECT TOP, then UPDATE by key.
	Select
)

// forms are the names of the forms.
var forms = [...]string{"mixed", "update-cte", "update-top", "delete-top", "select"}

// Forms returns the names that ParseForm takes.
func Forms() []string { return forms[:] }

// ParseForm returns the form of a name.
func ParseForm(name string) (Form, error) {
	for i, f := range forms {
		if f == name {
			return Form(i), nil
		}
	}
	return 0, fmt.Errorf("no form of claims is called %q: take one of %s", name, strings.Join(forms[:], ", "))
}

// String returns the form's name.
func (f Form) String() string { return forms[f] }

// schema makes the table: its clustered index is in the order of the claims.
const schema = `CREATE TABLE dbo.queue (
	id int NOT NULL CONSTRAINT queue_pk PRIMARY KEY NONCLUSTERED WITH (ALLOW_PAGE_LOCKS = OFF),
	lane tinyint NOT NULL,
	available_at datetime2(7) NOT NULL CONSTRAINT queue_available_df DEFAULT (SYSUTCDATETIME()),
	claims int NOT NULL CONSTRAINT queue_claims_df DEFAULT (0),
	claimed_by int NULL,
	payload nvarchar(200) NOT NULL
);
CREATE CLUSTERED INDEX queue_ready ON dbo.queue (lane, available_at, id) WITH (ALLOW_PAGE_LOCKS = OFF);
ALTER TABLE dbo.queue SET (LOCK_ESCALATION = DISABLE);`

// taken is what a claim that keeps its row sets.
const taken = `available_at = '9999-12-31', claims = claims + 1, claimed_by = @@SPID`

// ready is what makes a row fit to be claimed.
const ready = `lane = 1 AND available_at <= SYSUTCDATETIME()`

// insertion adds rows that arrive now: as many as @p2 says, at most ten.
const insertion = `INSERT INTO dbo.queue (id, lane, payload)
SELECT @p1 + n.n, 1, @p3 FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS n (n) WHERE n.n < @p2`

// keep claims a row that Select has chosen.
const keep = `UPDATE dbo.queue SET ` + taken + ` WHERE id = @p1`

// claim returns the statement that claims n rows and returns their ids.
func (f Form) claim(n int, hints string) string {
	switch f {
	case UpdateCTE:
		return fmt.Sprintf(`WITH ready AS (
	SELECT TOP (%d) id, available_at, claims, claimed_by FROM dbo.queue WITH (%s) WHERE %s ORDER BY available_at, id
) UPDATE ready SET %s OUTPUT inserted.id`, n, hints, ready, taken)
	case UpdateTop:
		return fmt.Sprintf(`UPDATE TOP (%d) dbo.queue WITH (%s) SET %s OUTPUT inserted.id WHERE %s`, n, hints, taken, ready)
	case DeleteTop:
		return fmt.Sprintf(`DELETE TOP (%d) FROM dbo.queue WITH (%s) OUTPUT deleted.id WHERE %s`, n, hints, ready)
	default:
		return fmt.Sprintf(`SELECT TOP (%d) id FROM dbo.queue WITH (%s) WHERE %s ORDER BY available_at, id`, n, hints, ready)
	}
}
