/*
The options of the loopback linked server that the settings name.
Result: no row when there is none; else name, provider, data_source, provider_string, is_rpc_out_enabled,
is_data_access_enabled, is_remote_proc_transaction_promotion_enabled, connect_timeout, query_timeout.
*/
SELECT
    v.name,
    v.provider,
    COALESCE(v.data_source, N'') AS data_source,
    COALESCE(v.provider_string, N'') AS provider_string,
    v.is_rpc_out_enabled,
    v.is_data_access_enabled,
    v.is_remote_proc_transaction_promotion_enabled,
    v.connect_timeout,
    v.query_timeout
FROM [dbo].[api_broker_setting] AS s
INNER JOIN sys.servers AS v
    ON v.name = s.link_server
WHERE s.id = 1
    AND v.is_linked = 1;
