package tsql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The roles of the broker. Deploy makes them and gives them their rights.
const (
	RoleCaller   = "api_broker_caller"
	RoleWorker   = "api_broker_worker"
	RoleAdmin    = "api_broker_admin"
	RoleLoopback = "api_broker_loopback"
	RoleChannel  = "api_broker_channel"
)

// CompletionUser is the user that completion procedures run as.
const CompletionUser = "api_broker_completion_user"

// Right is one permission of one of the broker's roles on one of its objects.
type Right struct {
	// Role has it.
	Role string
	// Permission is EXECUTE, SELECT, INSERT, UPDATE or DELETE.
	Permission string
	// Object is the name of the object without its schema.
	Object string
}

var reGrant = regexp.MustCompile(`(?m)^GRANT ([A-Z, ]+) ON \[dbo\]\.\[(\w+)\] TO (\w+);$`)

// Rights returns every right that Deploy gives, from the statement that gives them.
var Rights = sync.OnceValue(func() []Right {
	var out []Right
	for _, m := range reGrant.FindAllStringSubmatch(StatementGrants.Text(), -1) {
		for _, permission := range strings.Split(m[1], ", ") {
			out = append(out, Right{Role: m[3], Permission: permission, Object: m[2]})
		}
	}
	return out
})

// principals returns the roles and users that there have to be.
func principals() []string {
	all := map[string]bool{CompletionUser: true}
	for _, r := range Rights() {
		all[r.Role] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// verifyGrants finds principals that are not there, rights that are missing or
// denied, and rights that we did not give.
func verifyGrants(ctx context.Context, db querier, schema Schema) (Findings, error) {
	there := map[string]bool{}
	denied := map[Right]bool{} // of the rights that there are
	err := readRows(ctx, db, schema, StatementCatalogGrants, func(rows *sql.Rows) error {
		var (
			r    Right
			deny bool
		)
		err := rows.Scan(&r.Role, &r.Object, &r.Permission, &deny)
		there[r.Role] = true
		if r.Object != "" {
			denied[r] = deny
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out Findings
	for _, name := range principals() {
		if !there[name] {
			out = append(out, Finding{Object: "[" + name + "]", Problem: "is not there", Repair: "Run loopbroker deploy."})
		}
	}
	wanted := map[Right]bool{}
	for _, r := range Rights() {
		wanted[r] = true
		switch deny, ok := denied[r]; {
		case !there[r.Role]:
		case !ok:
			out = append(out, Finding{Object: schema.Object(r.Object), Problem: fmt.Sprintf("%s may not %s it", r.Role, r.Permission),
				Repair: "Run loopbroker deploy."})
		case deny:
			out = append(out, Finding{Object: schema.Object(r.Object), Problem: fmt.Sprintf("%s is denied to %s", r.Permission, r.Role),
				Repair: fmt.Sprintf("REVOKE %s ON %s FROM [%s], then run loopbroker deploy.", r.Permission, schema.Object(r.Object), r.Role)})
		}
	}
	return append(out, moreThanGiven(schema, wanted, denied)...), nil
}

// moreThanGiven warns of rights of our roles on our objects that we did not give.
func moreThanGiven(schema Schema, wanted, denied map[Right]bool) Findings {
	var out Findings
	for r, deny := range denied {
		if deny || wanted[r] || r.Role == CompletionUser || !slices.ContainsFunc(Objects(), func(o Object) bool { return o.Name == r.Object }) {
			continue
		}
		out = append(out, Finding{Object: schema.Object(r.Object), Warning: true,
			Problem: fmt.Sprintf("%s may %s it, which deployment does not give", r.Role, r.Permission),
			Repair:  fmt.Sprintf("REVOKE %s ON %s FROM [%s], unless it is meant.", r.Permission, schema.Object(r.Object), r.Role)})
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return out
}
