package tsql_test

import (
	"database/sql"
	"fmt"
	"testing"
)

// TestNothingIsAllowedByDefault: no row of the allow-list, no call, whoever asks.
func TestNothingIsAllowedByDefault(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec("DELETE FROM [dbo].[api_broker_endpoint]")
	for _, begin := range []string{"", "BEGIN TRANSACTION"} {
		conn := db.session()
		must(t, conn, begin)
		if _, err := ask(t.Context(), conn, requestBatch("@url = N'http://h/', @wait = 0")); errorNumber(err) != 54070 {
			t.Errorf("%q: got %v, want 54070", begin, err)
		}
	}
	db.wantRequests(0)
}

// TestAllowList matches URLs with the rows: exact scheme, host and port, and the
// path at a segment boundary.
func TestAllowList(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("DELETE FROM [dbo].[api_broker_endpoint]")
	db.exec(`INSERT INTO [dbo].[api_broker_endpoint] (name, scheme, host, port, path_prefix, methods, enabled) VALUES
    (N'v1', N'https', N'api.example', 443, N'/v1', NULL, 1),
    (N'all', N'http', N'api.example', 8080, N'/', N'GET,POST', 1),
    (N'off', N'https', N'off.example', 443, N'/', NULL, 0)`)
	for _, tt := range []struct {
		url, more string
		ok        bool
	}{
		{"https://api.example/v1", "", true},
		{"https://api.example/v1/", "", true},
		{"https://api.example/v1/x?y=/..#z", "", true},
		{"https://api.example/v1?x", "", true},
		{"https://API.Example:443/v1/x", "", true},
		{"HTTPS://api.example./v1/x", "", true},
		{"https://api.example/v10", "", false},
		{"https://api.example/V1/x", "", false},
		{"https://api.example/", "", false},
		{"https://api.example", "", false},
		{"https://api.example/v1/../admin", "", false},
		{"https://api.example/v1/..", "", false},
		{"https://api.example/v1/./x", "", false},
		{"https://api.example/v1/%2e%2E/admin", "", false},
		{"https://api.example/v1/%2F/admin", "", false},
		{"https://api.example/v1%5c..%5cadmin", "", false},
		{"https://api.example/%76%31/x", "", false},
		{"https://api.example/v1/caf%C3%A9", "", true},
		{"https://api.example/v1/%c0%AE%c0%ae/admin", "", false},
		{"https://api.example/v1/%E0%80%AE/admin", "", false},
		{"https://api.example/v1/..%09/admin", "", false},
		{"https://api.example/v1/%00", "", false},
		{"https://api.example/v1/%7F", "", false},
		{"https://api.example:444/v1", "", false},
		{"http://api.example/v1", "", false},
		{"https://api.example.evil/v1", "", false},
		{"https://xapi.example/v1", "", false},
		{"http://api.example:8080/a/../b", "", true},
		{"http://api.example:8080/", ", @method = N'POST'", true},
		{"http://api.example:8080/", ", @method = N'DELETE'", false},
		{"https://off.example/", "", false},
	} {
		_, err := ask(t.Context(), db, requestBatch("@url = N'"+tt.url+"', @wait = 0"+tt.more))
		switch {
		case tt.ok && err != nil:
			t.Errorf("%s%s: %v, want it to pass", tt.url, tt.more, err)
		case !tt.ok && errorNumber(err) != 54070:
			t.Errorf("%s%s: %v, want 54070", tt.url, tt.more, err)
		}
	}
}

// TestEndpointRowsAreChecked refuses rows that could never match, or would match
// what their author did not mean.
func TestEndpointRowsAreChecked(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	for _, values := range []string{
		"N'ftp', N'h', 21, N'/'", "N'http', N'H', 80, N'/'", "N'http', N'', 80, N'/'", "N'http', N'h.', 80, N'/'", "N'http', N'h/x', 80, N'/'",
		"N'http', N'*.h', 80, N'/'", "N'http', N'h', 0, N'/'", "N'http', N'h', 65536, N'/'", "N'http', N'h', 80, N'x'", "N'http', N'h', 80, N'/?x'",
		"N'http', N'h', 80, N'/v1/'", "N'http', N'h', 80, N'/v1/../x'", "N'http', N'h', 80, N'/%2e'",
	} {
		_, err := db.ExecContext(t.Context(), "INSERT INTO [dbo].[api_broker_endpoint] (name, scheme, host, port, path_prefix) VALUES (N'n', "+values+")")
		if errorNumber(err) != 547 {
			t.Errorf("%s: got %v, want 547", values, err)
		}
	}
}

// TestPermissions: the rights are those of the login's database roles, and an app
// role only narrows them.
func TestPermissions(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.exec(`DELETE FROM [dbo].[api_broker_permission];
INSERT INTO [dbo].[api_broker_credential] (name, endpoint) VALUES (N'key', N'http://h:80'), (N'other', N'elsewhere');
CREATE ROLE sellers; CREATE ROLE buyers; CREATE ROLE keys; CREATE ROLE echoes;
INSERT INTO [dbo].[api_broker_permission] (principal, is_app_role, kind, name) VALUES
    (N'sellers', 0, N'endpoint', N'http://h:80'), (N'keys', 0, N'credential', N'*'), (N'echoes', 0, N'type', N'echo'),
    (N'shop', 1, N'endpoint', N'*'), (N'stranger', 1, N'type', N'*')`)
	const app = "EXEC sys.sp_set_session_context N'app_role', N'%s', %d;"
	request := "@url = N'http://h/', @wait = 0"
	for _, tt := range []struct {
		name   string
		roles  []string
		before string
		more   string
		number int32
	}{
		{"no permission", []string{"api_broker_caller"}, "", "", 54071},
		{"another role", []string{"api_broker_caller", "buyers"}, "", "", 54071},
		{"the role", []string{"api_broker_caller", "sellers"}, "", "", 0},
		{"an admin", []string{"api_broker_admin"}, "", "", 0},
		{"an app role that may", []string{"api_broker_caller", "sellers"}, fmt.Sprintf(app, "shop", 1), "", 0},
		{"an app role that may not", []string{"api_broker_caller", "sellers"}, fmt.Sprintf(app, "stranger", 1), "", 54071},
		{"an unknown app role", []string{"api_broker_caller", "sellers"}, fmt.Sprintf(app, "nobody", 1), "", 54071},
		{"an app role that can be changed does not count", []string{"api_broker_caller", "sellers"}, fmt.Sprintf(app, "nobody", 0), "", 0},
		{"an app role adds nothing", []string{"api_broker_caller", "buyers"}, fmt.Sprintf(app, "shop", 1), "", 54071},
		{"an app role narrows an admin, too", []string{"api_broker_admin"}, fmt.Sprintf(app, "nobody", 1), "", 54071},
		{"a credential without permission", []string{"api_broker_caller", "sellers"}, "", ", @credential = N'key'", 54073},
		{"a credential with it", []string{"api_broker_caller", "sellers", "keys"}, "", ", @credential = N'key'", 0},
		{"a padded credential", []string{"api_broker_caller", "sellers", "keys"}, "", ", @credential = N'key '", 54073},
		{"a credential bound elsewhere", []string{"api_broker_caller", "sellers", "keys"}, "", ", @credential = N'other'", 54073},
		{"an unknown credential of an admin", []string{"api_broker_admin"}, "", ", @credential = N'none'", 54073},
		{"a credential as injection", []string{"api_broker_admin"}, "", `, @credential = N'x","url":"http://evil/'`, 54073},
		{"an app role without the credential", []string{"api_broker_caller", "sellers", "keys"}, fmt.Sprintf(app, "shop", 1), ", @credential = N'key'", 54073},
	} {
		who, _ := db.login(tt.roles...)
		for _, begin := range []string{"", "BEGIN TRANSACTION;"} {
			conn, err := who.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a, err := ask(t.Context(), conn, begin+tt.before+requestBatch(request+tt.more))
			if got := errorNumber(err); got != tt.number || (tt.number == 0 && (err != nil || a.Code != 1)) {
				t.Errorf("%s (%s): got %+v, %v, want %d", tt.name, begin, a, err, tt.number)
			}
			_ = conn.Close()
		}
	}
	stranger, _ := db.login()
	if _, err := stranger.ExecContext(t.Context(), "EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0"); errorNumber(err) != 229 {
		t.Errorf("no role: got %v, want 229", err)
	}
	who, _ := db.login("api_broker_caller", "echoes")
	for kind, number := range map[string]int32{"echo": 0, "render": 54072} {
		_, err := who.ExecContext(t.Context(), "EXEC [dbo].[sp_api_broker_request] @type = @p1, @json = N'{}', @wait = 0", kind)
		if errorNumber(err) != number {
			t.Errorf("type %s: got %v, want %d", kind, err, number)
		}
	}
}

// TestAppRoleOwnsItsRequests: what an app role asked for is unknown to another one
// of the same login, and so are its keys.
func TestAppRoleOwnsItsRequests(t *testing.T) {
	t.Parallel()
	db := looped(t)
	db.allow("http", "other", 80)
	db.exec("INSERT INTO [dbo].[api_broker_permission] (principal, is_app_role, kind, name) VALUES (N'a', 1, N'endpoint', N'*'), (N'b', 1, N'endpoint', N'*')")
	who, _ := db.login("api_broker_caller")
	as := func(role string) *sql.Conn {
		conn, err := who.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		must(t, conn, "EXEC sys.sp_set_session_context N'app_role', N'"+role+"', 1;")
		return conn
	}
	a, b := as("a"), as("b")
	first := mustAsk(t, a, requestBatch("@url = N'http://h/', @wait = 0, @idempotency_key = N'k'"))
	if got := mustAsk(t, a, collectBatch(first.ID.Int64, 0)); got.Code != 1 {
		t.Errorf("its own: got %+v, want 1", got)
	}
	if got := mustAsk(t, b, collectBatch(first.ID.Int64, 0)); got.Code != 7 {
		t.Errorf("another app role: got %+v, want 7", got)
	}
	if got := cancel(t, b, first.ID.Int64); got != 7 {
		t.Errorf("cancel by another app role: got %d, want 7", got)
	}
	if got, err := ask(t.Context(), b, requestBatch("@url = N'http://other/', @wait = 0, @idempotency_key = N'k'")); err != nil || got.ID == first.ID {
		t.Errorf("the same key of another app role: got %+v, %v, want another request", got, err)
	}
}

// TestImpersonationGivesNoRights: the rights are those of the original login.
func TestImpersonationGivesNoRights(t *testing.T) {
	t.Parallel()
	db := deployed(t)
	db.exec("DELETE FROM [dbo].[api_broker_permission]; INSERT INTO [dbo].[api_broker_permission] (principal, kind, name) VALUES (N'sellers_only', N'endpoint', N'*'); CREATE ROLE sellers_only;")
	low, name := db.login("api_broker_caller")
	_, high := db.login("api_broker_caller", "sellers_only")
	db.exec(fmt.Sprintf("GRANT IMPERSONATE ON USER::[%s] TO [%s]", high, name))
	db.exec("CREATE PROCEDURE [dbo].[as_owner] WITH EXECUTE AS OWNER AS EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;")
	db.exec(fmt.Sprintf("GRANT EXECUTE ON [dbo].[as_owner] TO [%s]", name))
	for _, batch := range []string{
		"EXECUTE AS USER = N'" + high + "'; EXEC [dbo].[sp_api_request] @url = N'http://h/', @wait = 0;",
		"EXEC [dbo].[as_owner]",
	} {
		conn, err := low.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), batch); errorNumber(err) != 54071 {
			t.Errorf("%s: got %v, want 54071", batch, err)
		}
		_ = conn.Close()
	}
	db.wantRequests(0)
}
