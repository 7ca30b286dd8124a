SELECT 'unterminated FROM t;
