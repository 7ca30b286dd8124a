package tsql

// The procedures of callers, by name.
const (
	ProcRequest       = "sp_api_request"
	ProcBrokerRequest = "sp_api_broker_request"
	ProcCollect       = "sp_api_collect"
	ProcFetch         = "sp_api_fetch"
	ProcFetchAsync    = "sp_api_fetch_async"
	ProcFetchJSON     = "sp_api_fetch_json"
	ProcFetchBinary   = "sp_api_fetch_binary"
	ProcInvoke        = "sp_invoke_external_rest_endpoint"
	ProcRequestBatch  = "sp_api_request_batch"
	ProcCancel        = "sp_api_cancel"
	ProcResetHost     = "sp_api_reset_host"
	ProcRedrive       = "sp_api_redrive"
	ProcPurge         = "sp_api_purge"
	ProcPurgeDead     = "sp_api_purge_dead_letters"
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
	ProcPolicy        = "sp_api_broker_policy"
	ProcCompletions   = "sp_api_broker_completions"
	ProcRunCompletion = "sp_api_broker_run_completion"
)

// The procedures inside, which only other procedures call, and the one that the
// linked login may run.
const (
	ProcSend         = "sp_api_broker_send"
	ProcWait         = "sp_api_broker_wait"
	ProcAnswer       = "sp_api_broker_answer"
	ProcEnqueue      = "sp_api_broker_enqueue"
	ProcEnqueueBatch = "sp_api_broker_enqueue_batch"
	ProcCancelStored = "sp_api_broker_cancel"
	ProcCheckHTTP    = "sp_api_broker_check_http"
	ProcIdentity     = "sp_api_broker_identity"
	ProcAuthorize    = "sp_api_broker_authorize"
	ProcLinkedServer = "sp_api_broker_request_linked_server"
)

// The view over requests and replies, and the tables that Go programs name.
const (
	ViewRequest            = "api_broker_request"
	ViewQueue              = "api_broker_queue"
	ViewHealth             = "api_broker_health"
	ViewHostState          = "api_broker_host_state"
	ViewDeadLetter         = "api_broker_dead_letter"
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
	StatementPrincipals     Statement = "principals"
	StatementGrants         Statement = "grants"
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
	StatementCatalogGrants  Statement = "catalog_grants"
	StatementSchemaVersion  Statement = "schema_version"
	StatementRequest        Statement = "request"
	StatementLink           Statement = "link"

	StatementEndpointAllow    Statement = "endpoint_allow"
	StatementEndpointList     Statement = "endpoint_list"
	StatementEndpointRemove   Statement = "endpoint_remove"
	StatementPermit           Statement = "permit"
	StatementCredentialBind   Statement = "credential_bind"
	StatementCredentialList   Statement = "credential_list"
	StatementCredentialRemove Statement = "credential_remove"

	StatementRequestList    Statement = "request_list"
	StatementDeadLetterList Statement = "dead_letter_list"
	StatementHostStateList  Statement = "host_state_list"
	StatementHealth         Statement = "health"
	StatementDiagnosis      Statement = "diagnosis"
	StatementImpersonated   Statement = "probe_impersonated"
)

// Statements lists every statement.
func Statements() []Statement {
	return []Statement{
		StatementPrincipals, StatementGrants, StatementSeed, StatementLockDDL, StatementServer, StatementSchemaID, StatementCreateSchema,
		StatementCatalogObjects, StatementCatalogColumns, StatementCatalogIndexes,
		StatementCatalogModules, StatementCatalogSeq, StatementCatalogGrants, StatementSchemaVersion,
		StatementRequest, StatementLink,
		StatementEndpointAllow, StatementEndpointList, StatementEndpointRemove, StatementPermit,
		StatementCredentialBind, StatementCredentialList, StatementCredentialRemove,
		StatementRequestList, StatementDeadLetterList, StatementHostStateList, StatementHealth,
		StatementDiagnosis, StatementImpersonated,
	}
}

// Text returns the statement's file, written for [dbo].
func (s Statement) Text() string { return mustRead("statements/" + string(s) + ".sql") }

// Statement returns the text of a statement for this schema.
func (s Schema) Statement(name Statement) string { return s.Render(name.Text()) }
