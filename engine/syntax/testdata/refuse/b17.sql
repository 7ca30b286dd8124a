EXEC p @a = ;
