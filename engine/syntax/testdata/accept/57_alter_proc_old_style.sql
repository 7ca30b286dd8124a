ALTER PROC dbo.OldStyle
  @a int,
  @b varchar(10) = 'x' OUT
AS
  select @a, @b
  if @a > 1 return 5
  select * from t1 left join t2 on t1.a = t2.a and t2.b = 1 where t1.c like 'a%' or (t1.d is null)
  return
