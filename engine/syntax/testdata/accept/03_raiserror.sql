RAISERROR (N'Job %s failed with code %d', 16, 1, @name, @code) WITH NOWAIT, LOG;
RAISERROR (50005, 10, 1, N'abc');
