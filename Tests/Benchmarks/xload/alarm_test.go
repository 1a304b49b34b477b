package main

import (
	"testing"
	"time"
)

func TestAlarm(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{-time.Second, 0, 1, 300 * time.Microsecond} {
		begin := time.Now()
		if err := a.sleep(d); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < d {
			t.Errorf("woken %v too early", d-took)
		}
	}
	a.close()
	if a.sleep(time.Millisecond) == nil {
		t.Error("an alarm that is closed does not wait")
	}
}
