package builtin

import (
	"strings"
	"time"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// clockFuncs are the functions of the server's clock, whose time zone is UTC.
func clockFuncs() []*Func {
	clock := func(name string, t types.Type) *Func {
		return &Func{Name: name, Type: fixed(t), Eval: evaluator(name, func(c call) (types.Value, error) {
			return types.FromGoTime(t.Kind, t.Scale, c.env.Now().In(time.UTC)), nil
		})}
	}
	timestamp := clock("CURRENT_TIMESTAMP", types.TypeDateTime)
	timestamp.Variable = true
	return []*Func{
		timestamp,
		clock("GETDATE", types.TypeDateTime),
		clock("GETUTCDATE", types.TypeDateTime),
		clock("SYSDATETIME", types.DateTime2(7)),
		clock("SYSUTCDATETIME", types.DateTime2(7)),
		clock("SYSDATETIMEOFFSET", types.DateTimeOffset(7)),
	}
}

// calendarNames are the names of months and days in one language, days from
// Sunday.
type calendarNames struct {
	months, shortMonths [12]string
	days, shortDays     [7]string
}

var english = calendarNames{
	months: [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
		"November", "December"},
	shortMonths: [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	days:        [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
	shortDays:   [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
}

var german = calendarNames{
	months: [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
		"November", "Dezember"},
	shortMonths: [12]string{"Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"},
	days:        [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
	shortDays:   [7]string{"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
}

var french = calendarNames{
	months: [12]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
		"novembre", "décembre"},
	shortMonths: [12]string{"janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."},
	days:        [7]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
	shortDays:   [7]string{"dim.", "lun.", "mar.", "mer.", "jeu.", "ven.", "sam."},
}

// languages are the values of SET LANGUAGE whose names are known.
var languages = map[string]*calendarNames{
	"": &english, "us_english": &english, "english": &english, "british": &english, "british english": &english,
	"deutsch": &german, "german": &german, "français": &french, "french": &french,
}

// calendarNames are the names in the session's language.
func (c call) calendarNames() (*calendarNames, error) {
	if c.env == nil {
		return &english, nil
	}
	language := c.env.Options().Language
	names, ok := languages[strings.ToLower(language)]
	if !ok {
		return nil, sqlerr.Unsupported("SET LANGUAGE " + language)
	}
	return names, nil
}
