package tsql

// SchemaVersion is the version of the objects in this package. It is stored in
// api_broker_setting, and a worker of another version is refused there. It is
// raised with every change that an older worker or an older database would not
// survive.
const SchemaVersion = 2

// MinCompatibilityLevel is the lowest compatibility level of a database that the
// objects run in: OPENJSON needs it.
const MinCompatibilityLevel = 130

// MinMajorVersion is the lowest major version of SQL Server that the objects run
// on: 14 is SQL Server 2017.
const MinMajorVersion = 14

// DefaultSchema is the schema that the files are written for.
const DefaultSchema = "dbo"

// DefaultLinkServer is the name of the loopback linked server unless a deployment
// or an admin chooses another.
const DefaultLinkServer = "LinkedProjServer"
