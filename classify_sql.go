package toolguard

import (
	"reflect"
	"strconv"
)

// sqlStates maps SQLSTATEs, whole ones before classes of two characters. A
// statement that failed did nothing; a connection that failed may have.
var sqlStates = map[string]Code{
	"02": CodeNotFound,
	"08": CodeConnectionLost, "08001": CodeConnectionRefused, "08004": CodeConnectionRefused,
	"0A": CodeRequestRejected,
	"21": CodeRequestRejected,
	"22": CodeRequestRejected,
	"23": CodeRequestRejected, "23505": CodeConflict, "23P01": CodeConflict,
	"25006": CodeServiceUnavailable, // read only: a replica, or a failover is going on
	"25P03": CodeRolledBack, "25P04": CodeRolledBack,
	"28": CodeAuthExpired,
	"3D": CodeRequestRejected, "3F": CodeRequestRejected,
	"40": CodeRolledBack, "40003": CodeUnknownError, // "statement completion unknown"
	"42": CodeRequestRejected, "42501": CodePermissionDenied,
	"44":    CodeRequestRejected,
	"45000": CodeBusinessRule, // raised by a rule in the database, as is P0001
	"53":    CodeResourceExhausted,
	"54":    CodeRequestRejected,
	"55":    CodeConflict, "55P03": CodeRolledBack,
	"57014": CodeDownstreamTimeout,
	"57P01": CodeConnectionLost, "57P02": CodeConnectionLost, "57P03": CodeServiceUnavailable, "57P05": CodeConnectionLost,
	"58": CodeServerError, "F0": CodeServerError, "HV": CodeServerError, "XX": CodeServerError,
	"P0001": CodeBusinessRule, "P0002": CodeNotFound,
}

func bySQLState(err error) finding {
	state := sqlState(err)
	if len(state) != 5 {
		return finding{}
	}
	code, ok := sqlStates[state]
	if !ok {
		code, ok = sqlStates[state[:2]]
	}
	if !ok {
		return finding{}
	}
	return strong(code, "sqlstate "+state)
}

// sqlState: a field called Code is taken for a SQLSTATE only where lib/pq's
// Severity stands beside it, because many codes have five characters.
func sqlState(err error) string {
	if e, ok := err.(interface{ SQLState() string }); ok {
		return e.SQLState()
	}
	if s := stringField(err, "SQLState"); s != "" {
		return s
	}
	if _, ok := fieldOf(err, "Severity"); ok {
		return stringField(err, "Code")
	}
	return ""
}

func stringField(err error, name string) string {
	if f, ok := fieldOf(err, name); ok && f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}

// mySQLCodes maps server error numbers. InnoDB undoes at least the statement
// that ran into a lock.
var mySQLCodes = map[uint16]Code{
	1040: CodeResourceExhausted, 1041: CodeResourceExhausted, 1203: CodeResourceExhausted, 1226: CodeResourceExhausted,
	1205: CodeRolledBack, 1213: CodeRolledBack,
	1022: CodeConflict, 1062: CodeConflict, 1586: CodeConflict,
	1044: CodePermissionDenied, 1142: CodePermissionDenied, 1143: CodePermissionDenied, 1227: CodePermissionDenied,
	1045: CodeAuthExpired,
	1048: CodeRequestRejected, 1054: CodeRequestRejected, 1064: CodeRequestRejected, 1146: CodeRequestRejected,
	1264: CodeRequestRejected, 1292: CodeRequestRejected, 1364: CodeRequestRejected, 1366: CodeRequestRejected,
	1406: CodeRequestRejected, 1451: CodeRequestRejected, 1452: CodeRequestRejected, 3819: CodeRequestRejected,
	1053: CodeConnectionLost, 1152: CodeConnectionLost, 1158: CodeConnectionLost, 1160: CodeConnectionLost,
	1290: CodeServiceUnavailable, 1836: CodeServiceUnavailable,
	1317: CodeDownstreamTimeout, 3024: CodeDownstreamTimeout,
	1644: CodeBusinessRule,
}

func byMySQL(err error) finding {
	if typeName(err) != "MySQLError" {
		return finding{}
	}
	number, _ := fieldAs[uint16](err, "Number")
	if code, ok := mySQLCodes[number]; ok {
		return strong(code, "mysql error "+strconv.Itoa(int(number)))
	}
	return finding{}
}
