// Package anomaly runs scripts in which two or three sessions meet, and proves
// with them at which isolation levels the textbook anomalies happen.
//
// A script reads as a database administrator would tell the story:
//
//	anomaly: dirty read
//	about: B sees what A has written and takes back.
//	happens if: seen = 90
//	setup:
//	    CREATE TABLE dbo.account (id int CONSTRAINT pk_account PRIMARY KEY, balance int NOT NULL)
//	    INSERT INTO dbo.account VALUES (1, 100)
//
//	level READ COMMITTED, SERIALIZABLE: prevented (blocks)
//	    doc: https://learn.microsoft.com/…
//	    session A: BEGIN TRANSACTION
//	    session A: UPDATE dbo.account SET balance = 90 WHERE id = 1
//	    session B seen: SELECT balance FROM dbo.account WHERE id = 1   (blocks)
//	    session A: ROLLBACK
//	    session B: (resumes) 100
//
// Each "level" section is run once for each of its levels, on a database of its
// own, with the level set in all sessions. A script without an anomaly begins
// with "scenario:" instead, and its sections with "case NAME:" or
// "case NAME at LEVEL, LEVEL:".
//
// A step is a batch that one session runs, and may have a name. What stands
// below it says what it gives: "-> 100" is a row (values separated by " | "), or
// the text of a PRINT; "-> (no rows)" an empty result; "-> error 3960" or
// "-> error 3960: text" an error, where {A} stands for the session id of A.
// "-> (1 row affected)" counts rows; counts that are not written are not
// compared. An error that is not written is a difference. Lines that are
// indented further and begin otherwise continue the batch. A "#" begins a
// comment line.
//
//	(blocks)           the lock views show the session waiting for a session of the script
//	(blocks for A)     … for that session
//	(deadlocks)        the step closes a circle: a session of the circle ends with 1205
//	(does not block)   the step completes, as steps without a mark do
//	session B: (resumes)   the step of B that was blocked completes now, not earlier
//
// Nothing is proved by the clock: that a session waits is read in
// sys.dm_exec_requests and sys.dm_os_waiting_tasks, that it does not by its
// completion. Bound only ends a script that hangs.
//
// A run goes on after a difference as long as it can, so that Outcome tells
// what happened instead: the anomaly, by the script's condition, or how it was
// prevented.
//
// Scripts run unchanged on SQL Server: Run takes any *sql.DB whose database is
// new and in which nobody else is connected.
package anomaly
