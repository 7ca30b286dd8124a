package tsql

// The procedures of callers, by name.
const (
	ProcRequest       = "sp_api_request"
	ProcBrokerRequest = "sp_api_broker_request"
	ProcCollect       = "sp_api_collect"
	ProcFetch         = "sp_api_fetch"
	ProcSetup         = "sp_api_broker_setup"
)

// The procedures of workers, by name. Call them by Schema.Object outside a
// transaction.
const (
	ProcRegister      = "sp_api_broker_register"
	ProcUnregister    = "sp_api_broker_unregister"
	ProcHeartbeat     = "sp_api_broker_heartbeat"
	ProcClaim         = "sp_api_broker_claim"
	ProcLoad          = "sp_api_broker_load"
	ProcComplete      = "sp_api_broker_complete"
	ProcCompleteBatch = "sp_api_broker_complete_batch"
	ProcRelease       = "sp_api_broker_release"
	ProcDeadLetter    = "sp_api_broker_dead_letter"
	ProcJanitor       = "sp_api_broker_janitor"
)

// The procedures inside, which only other procedures call, and the one that the
// linked login may run.
const (
	ProcSend         = "sp_api_broker_send"
	ProcWait         = "sp_api_broker_wait"
	ProcAnswer       = "sp_api_broker_answer"
	ProcEnqueue      = "sp_api_broker_enqueue"
	ProcLinkedServer = "sp_api_broker_request_linked_server"
)

// The view over requests and replies, and the tables that Go programs name.
const (
	ViewRequest            = "api_broker_request"
	TableCall              = "api_broker_call"
	TableReply             = "api_broker_reply"
	TableSetting           = "api_broker_setting"
	TableWorker            = "api_broker_worker"
	TableTransportMessages = "asyncresponse_transport_messages"
)

// Statement names one statement that Go programs run as text.
type Statement string

// The statements. Each one's file says what it does, its parameters and its
// result set.
const (
	StatementSeed           Statement = "seed"
	StatementLockDDL        Statement = "lock_ddl"
	StatementServer         Statement = "server"
	StatementSchemaID       Statement = "schema_id"
	StatementCreateSchema   Statement = "create_schema"
	StatementCatalogObjects Statement = "catalog_objects"
	StatementCatalogColumns Statement = "catalog_columns"
	StatementCatalogIndexes Statement = "catalog_indexes"
	StatementCatalogModules Statement = "catalog_modules"
	StatementCatalogSeq     Statement = "catalog_sequences"
	StatementSchemaVersion  Statement = "schema_version"
	StatementRequest        Statement = "request"
	StatementLink           Statement = "link"
)

// Statements lists every statement.
func Statements() []Statement {
	return []Statement{
		StatementSeed, StatementLockDDL, StatementServer, StatementSchemaID, StatementCreateSchema,
		StatementCatalogObjects, StatementCatalogColumns, StatementCatalogIndexes,
		StatementCatalogModules, StatementCatalogSeq, StatementSchemaVersion,
		StatementRequest, StatementLink,
	}
}

// Text returns the statement's file, written for [dbo].
func (s Statement) Text() string { return mustRead("statements/" + string(s) + ".sql") }

// Statement returns the text of a statement for this schema.
func (s Schema) Statement(name Statement) string { return s.Render(name.Text()) }
