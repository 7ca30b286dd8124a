package tsql_test
import "testing"
func TestZZ(t *testing.T) {
	db := deployed(t)
	q := func(s string) { var a, b any; err := db.QueryRowContext(t.Context(), s).Scan(&a,&b); t.Log(s, a, b, err) }
	q("SELECT max_waiters, link_server FROM [dbo].[api_broker_setting]")
	db.exec("UPDATE [dbo].[api_broker_setting] SET max_waiters = 7, link_server = N'other'")
	q("SELECT max_waiters, link_server FROM [dbo].[api_broker_setting]")
	q("SELECT COUNT(*), 1 FROM [dbo].[api_broker_setting] WHERE max_waiters = 7")
	q("SELECT COUNT(*), 1 FROM [dbo].[api_broker_setting] WHERE link_server = N'other'")
	q("SELECT COUNT(*), 1 FROM [dbo].[api_broker_setting] WHERE max_waiters = 7 AND link_server = N'other'")
	q("SELECT COUNT(*), 1 FROM [dbo].[api_broker_setting]")
}
