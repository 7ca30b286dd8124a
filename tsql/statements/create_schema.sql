/*
Makes the schema; CREATE SCHEMA must be alone in its batch.
*/
CREATE SCHEMA [dbo];
