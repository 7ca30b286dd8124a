EXEC sp_set_session_context @key = N'tenant', @value = 42, @read_only = 1;
SELECT CAST(SESSION_CONTEXT(N'tenant') AS int) AS tenant, CONTEXT_INFO() AS ci;
SET CONTEXT_INFO 0x0102ABCD;
