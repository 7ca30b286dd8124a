package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine/storage"
)

func TestOldViewWarning(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		view storage.ViewInfo
		want string
	}{
		{"snapshot", storage.ViewInfo{Session: 51, Tx: 9, Snapshot: true}, "a SNAPSHOT transaction; memory grows until it ends: commit it"},
		{"statement", storage.ViewInfo{Session: 51, Tx: 9}, "a statement; memory grows until it ends: cancel"},
		{"checkpoint", storage.ViewInfo{}, "a checkpoint or a backup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sb strings.Builder
			oldViewWarning(zerolog.New(&sb))(storage.OldView{ViewInfo: tt.view, Age: 90 * time.Second, Versions: 123456, Bytes: 789})
			for _, want := range []string{tt.want, `"level":"warn"`, `"versions":123456`, `"bytes":789`, `"age_ms":90000`} {
				if !strings.Contains(sb.String(), want) {
					t.Errorf("got %s, without %s", sb.String(), want)
				}
			}
		})
	}
}
