package syntax

// word is a reserved word of T-SQL; notReserved marks every other identifier.
type word uint8

// The reserved words, those of the documentation's list "Reserved keywords
// (Transact-SQL)" but two: WITHIN is reserved only before GROUP, and servers take
// PRECISION as a name, such as that of the column of sys.columns. Both are
// contextual here, as is every word that is not listed.
const (
	notReserved word = iota
	wAdd
	wAll
	wAlter
	wAnd
	wAny
	wAs
	wAsc
	wAuthorization
	wBackup
	wBegin
	wBetween
	wBreak
	wBrowse
	wBulk
	wBy
	wCascade
	wCase
	wCheck
	wCheckpoint
	wClose
	wClustered
	wCoalesce
	wCollate
	wColumn
	wCommit
	wCompute
	wConstraint
	wContains
	wContainstable
	wContinue
	wConvert
	wCreate
	wCross
	wCurrent
	wCurrentDate
	wCurrentTime
	wCurrentTimestamp
	wCurrentUser
	wCursor
	wDatabase
	wDbcc
	wDeallocate
	wDeclare
	wDefault
	wDelete
	wDeny
	wDesc
	wDisk
	wDistinct
	wDistributed
	wDouble
	wDrop
	wDump
	wElse
	wEnd
	wErrlvl
	wEscape
	wExcept
	wExec
	wExecute
	wExists
	wExit
	wExternal
	wFetch
	wFile
	wFillfactor
	wFor
	wForeign
	wFreetext
	wFreetexttable
	wFrom
	wFull
	wFunction
	wGoto
	wGrant
	wGroup
	wHaving
	wHoldlock
	wIdentity
	wIdentityInsert
	wIdentitycol
	wIf
	wIn
	wIndex
	wInner
	wInsert
	wIntersect
	wInto
	wIs
	wJoin
	wKey
	wKill
	wLeft
	wLike
	wLineno
	wLoad
	wMerge
	wNational
	wNocheck
	wNonclustered
	wNot
	wNull
	wNullif
	wOf
	wOff
	wOffsets
	wOn
	wOpen
	wOpendatasource
	wOpenquery
	wOpenrowset
	wOpenxml
	wOption
	wOr
	wOrder
	wOuter
	wOver
	wPercent
	wPivot
	wPlan
	wPrimary
	wPrint
	wProc
	wProcedure
	wPublic
	wRaiserror
	wRead
	wReadtext
	wReconfigure
	wReferences
	wReplication
	wRestore
	wRestrict
	wReturn
	wRevert
	wRevoke
	wRight
	wRollback
	wRowcount
	wRowguidcol
	wRule
	wSave
	wSchema
	wSecurityaudit
	wSelect
	wSemantickeyphrasetable
	wSemanticsimilaritydetailstable
	wSemanticsimilaritytable
	wSessionUser
	wSet
	wSetuser
	wShutdown
	wSome
	wStatistics
	wSystemUser
	wTable
	wTablesample
	wTextsize
	wThen
	wTo
	wTop
	wTran
	wTransaction
	wTrigger
	wTruncate
	wTryConvert
	wTsequal
	wUnion
	wUnique
	wUnpivot
	wUpdate
	wUpdatetext
	wUse
	wUser
	wValues
	wVarying
	wView
	wWaitfor
	wWhen
	wWhere
	wWhile
	wWith
	wWritetext
)

// reservedWords finds a reserved word by its upper-case spelling.
var reservedWords = map[string]word{
	"ADD":                            wAdd,
	"ALL":                            wAll,
	"ALTER":                          wAlter,
	"AND":                            wAnd,
	"ANY":                            wAny,
	"AS":                             wAs,
	"ASC":                            wAsc,
	"AUTHORIZATION":                  wAuthorization,
	"BACKUP":                         wBackup,
	"BEGIN":                          wBegin,
	"BETWEEN":                        wBetween,
	"BREAK":                          wBreak,
	"BROWSE":                         wBrowse,
	"BULK":                           wBulk,
	"BY":                             wBy,
	"CASCADE":                        wCascade,
	"CASE":                           wCase,
	"CHECK":                          wCheck,
	"CHECKPOINT":                     wCheckpoint,
	"CLOSE":                          wClose,
	"CLUSTERED":                      wClustered,
	"COALESCE":                       wCoalesce,
	"COLLATE":                        wCollate,
	"COLUMN":                         wColumn,
	"COMMIT":                         wCommit,
	"COMPUTE":                        wCompute,
	"CONSTRAINT":                     wConstraint,
	"CONTAINS":                       wContains,
	"CONTAINSTABLE":                  wContainstable,
	"CONTINUE":                       wContinue,
	"CONVERT":                        wConvert,
	"CREATE":                         wCreate,
	"CROSS":                          wCross,
	"CURRENT":                        wCurrent,
	"CURRENT_DATE":                   wCurrentDate,
	"CURRENT_TIME":                   wCurrentTime,
	"CURRENT_TIMESTAMP":              wCurrentTimestamp,
	"CURRENT_USER":                   wCurrentUser,
	"CURSOR":                         wCursor,
	"DATABASE":                       wDatabase,
	"DBCC":                           wDbcc,
	"DEALLOCATE":                     wDeallocate,
	"DECLARE":                        wDeclare,
	"DEFAULT":                        wDefault,
	"DELETE":                         wDelete,
	"DENY":                           wDeny,
	"DESC":                           wDesc,
	"DISK":                           wDisk,
	"DISTINCT":                       wDistinct,
	"DISTRIBUTED":                    wDistributed,
	"DOUBLE":                         wDouble,
	"DROP":                           wDrop,
	"DUMP":                           wDump,
	"ELSE":                           wElse,
	"END":                            wEnd,
	"ERRLVL":                         wErrlvl,
	"ESCAPE":                         wEscape,
	"EXCEPT":                         wExcept,
	"EXEC":                           wExec,
	"EXECUTE":                        wExecute,
	"EXISTS":                         wExists,
	"EXIT":                           wExit,
	"EXTERNAL":                       wExternal,
	"FETCH":                          wFetch,
	"FILE":                           wFile,
	"FILLFACTOR":                     wFillfactor,
	"FOR":                            wFor,
	"FOREIGN":                        wForeign,
	"FREETEXT":                       wFreetext,
	"FREETEXTTABLE":                  wFreetexttable,
	"FROM":                           wFrom,
	"FULL":                           wFull,
	"FUNCTION":                       wFunction,
	"GOTO":                           wGoto,
	"GRANT":                          wGrant,
	"GROUP":                          wGroup,
	"HAVING":                         wHaving,
	"HOLDLOCK":                       wHoldlock,
	"IDENTITY":                       wIdentity,
	"IDENTITY_INSERT":                wIdentityInsert,
	"IDENTITYCOL":                    wIdentitycol,
	"IF":                             wIf,
	"IN":                             wIn,
	"INDEX":                          wIndex,
	"INNER":                          wInner,
	"INSERT":                         wInsert,
	"INTERSECT":                      wIntersect,
	"INTO":                           wInto,
	"IS":                             wIs,
	"JOIN":                           wJoin,
	"KEY":                            wKey,
	"KILL":                           wKill,
	"LEFT":                           wLeft,
	"LIKE":                           wLike,
	"LINENO":                         wLineno,
	"LOAD":                           wLoad,
	"MERGE":                          wMerge,
	"NATIONAL":                       wNational,
	"NOCHECK":                        wNocheck,
	"NONCLUSTERED":                   wNonclustered,
	"NOT":                            wNot,
	"NULL":                           wNull,
	"NULLIF":                         wNullif,
	"OF":                             wOf,
	"OFF":                            wOff,
	"OFFSETS":                        wOffsets,
	"ON":                             wOn,
	"OPEN":                           wOpen,
	"OPENDATASOURCE":                 wOpendatasource,
	"OPENQUERY":                      wOpenquery,
	"OPENROWSET":                     wOpenrowset,
	"OPENXML":                        wOpenxml,
	"OPTION":                         wOption,
	"OR":                             wOr,
	"ORDER":                          wOrder,
	"OUTER":                          wOuter,
	"OVER":                           wOver,
	"PERCENT":                        wPercent,
	"PIVOT":                          wPivot,
	"PLAN":                           wPlan,
	"PRIMARY":                        wPrimary,
	"PRINT":                          wPrint,
	"PROC":                           wProc,
	"PROCEDURE":                      wProcedure,
	"PUBLIC":                         wPublic,
	"RAISERROR":                      wRaiserror,
	"READ":                           wRead,
	"READTEXT":                       wReadtext,
	"RECONFIGURE":                    wReconfigure,
	"REFERENCES":                     wReferences,
	"REPLICATION":                    wReplication,
	"RESTORE":                        wRestore,
	"RESTRICT":                       wRestrict,
	"RETURN":                         wReturn,
	"REVERT":                         wRevert,
	"REVOKE":                         wRevoke,
	"RIGHT":                          wRight,
	"ROLLBACK":                       wRollback,
	"ROWCOUNT":                       wRowcount,
	"ROWGUIDCOL":                     wRowguidcol,
	"RULE":                           wRule,
	"SAVE":                           wSave,
	"SCHEMA":                         wSchema,
	"SECURITYAUDIT":                  wSecurityaudit,
	"SELECT":                         wSelect,
	"SEMANTICKEYPHRASETABLE":         wSemantickeyphrasetable,
	"SEMANTICSIMILARITYDETAILSTABLE": wSemanticsimilaritydetailstable,
	"SEMANTICSIMILARITYTABLE":        wSemanticsimilaritytable,
	"SESSION_USER":                   wSessionUser,
	"SET":                            wSet,
	"SETUSER":                        wSetuser,
	"SHUTDOWN":                       wShutdown,
	"SOME":                           wSome,
	"STATISTICS":                     wStatistics,
	"SYSTEM_USER":                    wSystemUser,
	"TABLE":                          wTable,
	"TABLESAMPLE":                    wTablesample,
	"TEXTSIZE":                       wTextsize,
	"THEN":                           wThen,
	"TO":                             wTo,
	"TOP":                            wTop,
	"TRAN":                           wTran,
	"TRANSACTION":                    wTransaction,
	"TRIGGER":                        wTrigger,
	"TRUNCATE":                       wTruncate,
	"TRY_CONVERT":                    wTryConvert,
	"TSEQUAL":                        wTsequal,
	"UNION":                          wUnion,
	"UNIQUE":                         wUnique,
	"UNPIVOT":                        wUnpivot,
	"UPDATE":                         wUpdate,
	"UPDATETEXT":                     wUpdatetext,
	"USE":                            wUse,
	"USER":                           wUser,
	"VALUES":                         wValues,
	"VARYING":                        wVarying,
	"VIEW":                           wView,
	"WAITFOR":                        wWaitfor,
	"WHEN":                           wWhen,
	"WHERE":                          wWhere,
	"WHILE":                          wWhile,
	"WITH":                           wWith,
	"WRITETEXT":                      wWritetext,
}

// maxReserved is the length of the longest reserved word.
const maxReserved = 30

// lookupWord returns the reserved word that s spells in any case.
func lookupWord(s string) word {
	if len(s) < 2 || len(s) > maxReserved {
		return notReserved
	}
	var buf [maxReserved]byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case 'A' <= c && c <= 'Z', c == '_':
		default:
			return notReserved
		}
		buf[i] = c
	}
	return reservedWords[string(buf[:len(s)])]
}
