CREATE SEQUENCE dbo.JobSeq AS bigint START WITH 1 INCREMENT BY 1 MINVALUE 1 MAXVALUE 9999999 NO CYCLE CACHE 50;
ALTER SEQUENCE dbo.JobSeq RESTART WITH 100;
DECLARE @id bigint = NEXT VALUE FOR dbo.JobSeq;
INSERT INTO dbo.J (Id) SELECT NEXT VALUE FOR dbo.JobSeq OVER (ORDER BY x) FROM s;
DECLARE @first sql_variant;
EXEC sys.sp_sequence_get_range @sequence_name = N'dbo.JobSeq', @range_size = 10, @range_first_value = @first OUTPUT;
DROP SEQUENCE dbo.JobSeq;
