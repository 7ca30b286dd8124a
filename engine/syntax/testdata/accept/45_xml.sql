SELECT x.n.value('(@id)[1]', 'int') AS id, x.n.query('.') AS q FROM @xml.nodes('/root/row') AS x(n) WHERE @xml.exist('/root') = 1;
SELECT a AS [@id], b FROM t FOR XML PATH('row'), ROOT('root'), TYPE, ELEMENTS XSINIL;
SELECT STUFF((SELECT N',' + n FROM t FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, N'');
