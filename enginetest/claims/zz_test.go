package claims_test
import ("testing";"syscall";"loopbroker/engine";"loopbroker/enginetest";"loopbroker/enginetest/claims")
func TestProf(t *testing.T){ 
 cpu:=func() float64 { var r syscall.Rusage; syscall.Getrusage(0,&r); return float64(r.Utime.Sec)+float64(r.Utime.Usec)/1e6 }
 last,lc:=0,cpu()
 r,err:=claims.Run(t.Context(), enginetest.Server(t, engine.Options{}), claims.Options{Rows:120000,Sessions:32,Seed:1,Form:claims.Mixed, Progress: func(n int){ if n-last>=8000 { c:=cpu(); t.Logf("%d: %.0f us cpu per row", n, (c-lc)/float64(n-last)*1e6); last,lc=n,c } }}); t.Log(r,r.Took,err)}
