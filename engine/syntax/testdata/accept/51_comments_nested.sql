/* outer /* inner */ still comment */ SELECT /*x*/ 1 -- trailing
, 2 AS [b] -- GO
;
