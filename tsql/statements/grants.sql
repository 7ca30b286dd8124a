/*
What each role may do, and nothing else: procedures, and for an admin the rows that an admin edits.
*/
GRANT EXECUTE ON [dbo].[sp_api_request] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_request_batch] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_broker_request] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_collect] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_cancel] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_fetch] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_fetch_async] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_fetch_json] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_api_fetch_binary] TO api_broker_caller;
GRANT EXECUTE ON [dbo].[sp_invoke_external_rest_endpoint] TO api_broker_caller;
GRANT SELECT ON [dbo].[api_broker_request] TO api_broker_caller;

GRANT EXECUTE ON [dbo].[sp_api_broker_request_linked_server] TO api_broker_loopback;

GRANT EXECUTE ON [dbo].[sp_api_broker_register] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_unregister] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_heartbeat] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_claim] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_load] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_complete] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_complete_batch] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_release] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_dead_letter] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_janitor] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_policy] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_completions] TO api_broker_worker;
GRANT EXECUTE ON [dbo].[sp_api_broker_run_completion] TO api_broker_worker;

GRANT EXECUTE ON [dbo].[sp_api_purge] TO api_broker_admin;
GRANT EXECUTE ON [dbo].[sp_api_purge_dead_letters] TO api_broker_admin;
GRANT EXECUTE ON [dbo].[sp_api_redrive] TO api_broker_admin;
GRANT EXECUTE ON [dbo].[sp_api_reset_host] TO api_broker_admin;
GRANT SELECT ON [dbo].[api_broker_queue] TO api_broker_admin;
GRANT SELECT ON [dbo].[api_broker_health] TO api_broker_admin;
GRANT SELECT ON [dbo].[api_broker_host_state] TO api_broker_admin;
GRANT SELECT ON [dbo].[api_broker_dead_letter] TO api_broker_admin;

GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[api_broker_endpoint] TO api_broker_admin;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[api_broker_permission] TO api_broker_admin;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[api_broker_credential] TO api_broker_admin;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[api_broker_completion] TO api_broker_admin;
GRANT SELECT, UPDATE ON [dbo].[api_broker_setting] TO api_broker_admin;

GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[asyncresponse_channel_messages] TO api_broker_channel;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[asyncresponse_channel_subscribers] TO api_broker_channel;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[asyncresponse_recovery_state] TO api_broker_channel;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[asyncresponse_transport_messages] TO api_broker_channel;
GRANT SELECT, INSERT, UPDATE, DELETE ON [dbo].[asyncresponse_flow_state] TO api_broker_channel;
GRANT UPDATE ON [dbo].[asyncresponse_channel_messages_ack_seq] TO api_broker_channel;
