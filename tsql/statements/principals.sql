/*
Makes the roles and the one user of the broker where they are missing. Grants come after the procedures; see grants.sql.
*/
IF DATABASE_PRINCIPAL_ID(N'api_broker_caller') IS NULL
    CREATE ROLE api_broker_caller;
IF DATABASE_PRINCIPAL_ID(N'api_broker_worker') IS NULL
    CREATE ROLE api_broker_worker;
IF DATABASE_PRINCIPAL_ID(N'api_broker_admin') IS NULL
    CREATE ROLE api_broker_admin;
IF DATABASE_PRINCIPAL_ID(N'api_broker_loopback') IS NULL
    CREATE ROLE api_broker_loopback;
IF DATABASE_PRINCIPAL_ID(N'api_broker_channel') IS NULL
    CREATE ROLE api_broker_channel;
IF DATABASE_PRINCIPAL_ID(N'api_broker_completion_user') IS NULL
    CREATE USER api_broker_completion_user WITHOUT LOGIN;
IF IS_ROLEMEMBER(N'api_broker_caller', N'api_broker_admin') = 0
    ALTER ROLE api_broker_caller ADD MEMBER api_broker_admin;
