SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_secret: the one secret of the broker, 32 random bytes made at the first deployment.

Purpose
    Every loopback call carries a tag over its arguments, HASHBYTES over this secret and all of them. A mapped login
    can call the loopback procedure itself, but cannot make a tag: nobody is granted anything on this table, and our
    procedures read it by ownership chain.
    The row is also what a caller's transaction touches before its isolation level changes; see sp_api_request.
Locks
    Never written after the first deployment, so no reader ever waits here.
*/
IF OBJECT_ID(N'[dbo].[api_broker_secret]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_secret] (
        id tinyint NOT NULL
            CONSTRAINT api_broker_secret_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_secret_one_row CHECK (id = 1),
        secret varbinary(32) NOT NULL
    );
GO
