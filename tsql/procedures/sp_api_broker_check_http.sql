SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_check_http: whether an HTTP request is well formed, and where it goes.

Purpose
    Internal: one place for what sp_api_request and sp_api_request_batch ask of a URL, a method and headers. The parts
    of the URL come out in the form in which the allow-list is written.
Parameters
    @url, @method, @headers   as the caller gave them; @method comes back trimmed and in upper case
    @sensitive                1 lets headers with secrets pass
    @scheme ... @path         output: scheme and host in lower case, the host without brackets and final dot, the port
                              with the scheme's default, the path as it is
Return codes
    0
Errors
    54010-54015, 54020-54027: misuse.
Locks
    None.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_check_http]
    @url nvarchar(max),
    @method nvarchar(100) OUTPUT,
    @headers nvarchar(max),
    @sensitive bit,
    @scheme nvarchar(5) OUTPUT,
    @host nvarchar(253) OUTPUT,
    @port int OUTPUT,
    @path nvarchar(4000) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @address nvarchar(4000),
        @authority nvarchar(4000),
        @rest nvarchar(4000),
        @colon int,
        @name nvarchar(4000),
        @digits nvarchar(4000),
        @fault int;

    IF @url IS NULL OR @url = N''
        THROW 54010, N'@url is missing.', 1;
    IF DATALENGTH(@url) > 8000
        THROW 54013, N'@url is longer than 4,000 characters.', 1;
    SET @address = @url;
    IF LOWER(LEFT(@address, 7)) <> N'http://' AND LOWER(LEFT(@address, 8)) <> N'https://'
        THROW 54011, N'@url must begin with http:// or https://.', 1;
    SET @authority = SUBSTRING(@address, CHARINDEX(N'://', @address) + 3, 4000);
    SET @authority = LEFT(@authority, PATINDEX(N'%[/?#]%', @authority + N'/') - 1);
    IF CHARINDEX(N'@', @authority) > 0
        THROW 54014, N'@url must not hold a user name or a password.', 1;
    SET @colon = CASE
        WHEN LEFT(@authority, 1) = N'[' THEN CHARINDEX(N']', @authority) + 1
        ELSE CHARINDEX(N':', @authority + N':')
    END;
    SELECT
        @name = LEFT(@authority, @colon - 1),
        @digits = SUBSTRING(@authority, @colon, 4000);
    IF @name = N''
        OR LEN(@name) > 253
        OR PATINDEX(N'%[^!-~]%', @address COLLATE Latin1_General_100_BIN2) > 0
        OR PATINDEX(N'%[\"<>^`{|}]%', @address COLLATE Latin1_General_100_BIN2) > 0
        OR @address + N'  ' COLLATE Latin1_General_100_BIN2 LIKE N'%[%][^0-9A-Fa-f]%'
        OR @address + N'  ' COLLATE Latin1_General_100_BIN2 LIKE N'%[%]_[^0-9A-Fa-f]%'
        OR (LEFT(@name, 1) <> N'[' AND @name COLLATE Latin1_General_100_BIN2 LIKE N'%[^0-9A-Za-z._~-]%')
        OR (LEFT(@name, 1) = N'[' AND @name NOT LIKE N'[[]%:%]')
        OR (LEFT(@name, 1) = N'[' AND SUBSTRING(@name, 2, 4000) COLLATE Latin1_General_100_BIN2 LIKE N'%[^0-9A-Fa-f:.]%]')
        OR (@digits <> N'' AND @digits COLLATE Latin1_General_100_BIN2 NOT LIKE N':[0-9]%')
        OR LEN(@digits) > 6
        OR SUBSTRING(@digits, 2, 5) COLLATE Latin1_General_100_BIN2 LIKE N'%[^0-9]%'
        OR TRY_CONVERT(int, SUBSTRING(@digits, 2, 5)) > 65535
        OR @digits LIKE N':0%'
        THROW 54012, N'@url is malformed. It needs a host, at most a port from 1 to 65535, and only printable ASCII; encode the rest as %XX.', 1;
    SET @method = RTRIM(UPPER(@method COLLATE Latin1_General_100_BIN2));
    IF @method IS NULL OR @method NOT IN (N'GET', N'HEAD', N'POST', N'PUT', N'PATCH', N'DELETE', N'OPTIONS')
        THROW 54015, N'@method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.', 1;

    IF @headers IS NOT NULL
    BEGIN
        IF DATALENGTH(@headers) > 32768
            THROW 54026, N'@headers is longer than 16,384 characters.', 1;
        IF ISJSON(@headers) = 0
            OR LEFT(LTRIM(REPLACE(REPLACE(REPLACE(@headers, NCHAR(9), N' '), NCHAR(10), N' '), NCHAR(13), N' ')), 1) <> N'{'
            THROW 54020, N'@headers must be a JSON object such as {"Accept":"text/plain"}.', 1;

        SELECT @fault = MIN(CASE
                WHEN h.[type] NOT IN (1, 2, 3)
                    THEN 54021
                WHEN PATINDEX(N'%[^ -~]%', CONCAT(h.[key], h.[value]) COLLATE Latin1_General_100_BIN2) > 0
                    THEN CASE
                        WHEN UNICODE(SUBSTRING(
                                CONCAT(h.[key], h.[value]),
                                PATINDEX(N'%[^ -~]%', CONCAT(h.[key], h.[value]) COLLATE Latin1_General_100_BIN2),
                                1)) IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127)
                            THEN 54022
                        ELSE 54023
                    END
                WHEN DATALENGTH(h.[key]) = 0
                    OR PATINDEX(N'%[^!#$%&''*+.0-9A-Z^_`a-z|~-]%', h.[key] COLLATE Latin1_General_100_BIN2) > 0
                    THEN 54025
                WHEN LOWER(h.[key]) IN (N'host', N'content-length', N'transfer-encoding', N'connection', N'te',
                        N'trailer', N'upgrade', N'keep-alive', N'proxy-connection', N'expect')
                    THEN 54027
                WHEN @sensitive = 0
                    AND (LOWER(h.[key]) IN (N'authorization', N'proxy-authorization', N'cookie', N'set-cookie')
                        OR LOWER(h.[key]) LIKE N'%api-key%'
                        OR LOWER(h.[key]) LIKE N'%api[_]key%'
                        OR LOWER(h.[key]) LIKE N'%apikey%'
                        OR LOWER(h.[key]) LIKE N'%token%'
                        OR LOWER(h.[key]) LIKE N'%secret%'
                        OR LOWER(h.[key]) LIKE N'%password%')
                    THEN 54024
                ELSE 99999 -- no fault; NULL would make MIN warn (8153)
            END)
        FROM OPENJSON(@headers) AS h;

        SET @fault = NULLIF(@fault, 99999);
        IF @fault IS NULL AND EXISTS (
                SELECT LOWER(h.[key])
                FROM OPENJSON(@headers) AS h
                GROUP BY LOWER(h.[key])
                HAVING COUNT(*) > 1)
            SET @fault = 54025;
        IF @fault = 54021
            THROW 54021, N'@headers must be flat: every value a string, a number or a boolean.', 1;
        IF @fault = 54022
            THROW 54022, N'@headers holds a line break or another control character.', 1;
        IF @fault = 54023
            THROW 54023, N'@headers holds a character outside ASCII.', 1;
        IF @fault = 54024
            THROW 54024, N'@headers holds a secret (Authorization, Cookie or a key), which would be stored. Use @credential, or let an admin set allow_sensitive_headers.', 1;
        IF @fault = 54025
            THROW 54025, N'@headers holds a name that is no header name, or one name twice.', 1;
        IF @fault = 54027
            THROW 54027, N'@headers holds a header that the worker sets itself, such as Host or Content-Length.', 1;
    END;

    SELECT
        @scheme = LOWER(LEFT(@address, CHARINDEX(N':', @address) - 1)),
        @rest = SUBSTRING(@address, CHARINDEX(N'://', @address) + 3 + LEN(@authority), 4000),
        @name = LOWER(REPLACE(REPLACE(@name, N'[', N''), N']', N''));
    SELECT
        @host = CASE WHEN RIGHT(@name, 1) = N'.' THEN LEFT(@name, LEN(@name) - 1) ELSE @name END,
        @port = COALESCE(
            TRY_CONVERT(int, NULLIF(SUBSTRING(@digits, 2, 5), N'')),
            CASE WHEN @scheme = N'https' THEN 443 ELSE 80 END),
        @path = LEFT(@rest, PATINDEX(N'%[?#]%', @rest + N'?') - 1);
    IF @path = N''
        SET @path = N'/';
    RETURN 0;
END;
GO
