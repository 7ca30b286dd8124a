CREATE TABLE dbo.Orders (
    OrderId bigint IDENTITY(1,1) NOT NULL,
    TenantId int NOT NULL CONSTRAINT DF_Orders_Tenant DEFAULT (CAST(SESSION_CONTEXT(N'tenant') AS int)),
    Code varchar(20) COLLATE Latin1_General_100_CI_AS NOT NULL,
    Amount decimal(19, 4) NOT NULL CONSTRAINT CK_Amount CHECK (Amount >= 0),
    Total AS (Amount * 1.2) PERSISTED,
    Rv rowversion NOT NULL,
    CreatedAt datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),
    Doc nvarchar(max) NULL CHECK (ISJSON(Doc) = 1),
    CONSTRAINT PK_Orders PRIMARY KEY CLUSTERED (TenantId ASC, OrderId DESC) WITH (FILLFACTOR = 90, IGNORE_DUP_KEY = OFF),
    CONSTRAINT UQ_Code UNIQUE NONCLUSTERED (Code),
    CONSTRAINT FK_T FOREIGN KEY (TenantId) REFERENCES dbo.Tenant (Id) ON DELETE CASCADE ON UPDATE NO ACTION,
    INDEX IX_C NONCLUSTERED (CreatedAt) INCLUDE (Amount) WHERE Amount > 0
) ON [PRIMARY];
