declare @x int
set @x = 1
if exists (select * from t where a = @x) begin print 'yes' select @x = 2 end else print 'no'
select @x = @x + 1, @y = 'z' from t
exec p @x
exec p2 @a = @x output, @b = 3
begin tran
update t set a = 1
commit
select 1
