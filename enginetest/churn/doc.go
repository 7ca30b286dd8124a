// Package churn lets rows go through a queue table and looks at what is left:
// memory is to follow what is in the tables, not what has been.
//
// Sessions insert rows, claim them with U locks and READPAST, lease, delete, and
// roll some of each back. Beside them views are opened and closed, old ones with
// newer ones beside them, as READ_COMMITTED_SNAPSHOT does. At the end the table is
// empty. Nothing may be left of the rows then: no records, no old versions, no
// locks, and no memory.
package churn
