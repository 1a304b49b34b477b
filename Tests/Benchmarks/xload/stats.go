package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// hist is a log-linear histogram of nanoseconds, within 1.6 % of each value.
type hist struct {
	n      uint64
	max    int64
	bucket [64 * 42]uint64
}

func histIndex(v int64) int {
	if v < 64 {
		if v < 0 {
			v = 0
		}
		return int(v)
	}
	e := bits.Len64(uint64(v)) - 7
	i := (e+1)*64 + int(v>>uint(e)) - 64
	if i >= 64*42 {
		i = 64*42 - 1
	}
	return i
}

func (h *hist) add(v int64) {
	atomic.AddUint64(&h.n, 1)
	atomic.AddUint64(&h.bucket[histIndex(v)], 1)
	for {
		m := atomic.LoadInt64(&h.max)
		if v <= m || atomic.CompareAndSwapInt64(&h.max, m, v) {
			return
		}
	}
}

func (h *hist) quantile(q float64) int64 {
	n := atomic.LoadUint64(&h.n)
	if n == 0 {
		return 0
	}
	want := uint64(math.Ceil(q * float64(n)))
	var sum uint64
	for i := range h.bucket {
		sum += atomic.LoadUint64(&h.bucket[i])
		if sum >= want {
			if i < 64 {
				return int64(i)
			}
			e := uint(i/64 - 1)
			lo := int64(64+i%64) << e
			mid := lo + int64(1)<<e/2
			if mid > h.max {
				return h.max
			}
			return mid
		}
	}
	return h.max
}

// report is an ordered set of measured values.
type report struct {
	mode string
	rows []row
}

type row struct {
	key  string
	val  interface{}
	unit string
}

func (r *report) put(key string, val interface{}, unit string) {
	if f, ok := val.(float64); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0
		}
		val = roundTo(f)
	}
	r.rows = append(r.rows, row{key, val, unit})
}

func roundTo(f float64) float64 {
	if f == 0 || math.Abs(f) >= 1000 {
		return math.Round(f)
	}
	p := math.Pow(10, 4-math.Ceil(math.Log10(math.Abs(f))))
	return math.Round(f*p) / p
}

func (r *report) latency(prefix string, h *hist) {
	if h.n == 0 {
		return // nothing sent in the measured time arrived in it
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	r.put(prefix+"p50_ms", ms(h.quantile(0.50)), "ms")
	r.put(prefix+"p95_ms", ms(h.quantile(0.95)), "ms")
	r.put(prefix+"p99_ms", ms(h.quantile(0.99)), "ms")
	r.put(prefix+"p999_ms", ms(h.quantile(0.999)), "ms")
	r.put(prefix+"max_ms", ms(h.max), "ms")
}

// helpers are processes that a workload needs beside the server, and that make no machine unquiet.
var helpers []int

// usage is a CPU reading of the server and of xload itself.
type usage struct {
	at           time.Time
	server, self float64
	machine      float64 // busy time of all cores, without helpers
}

func readUsage(pids []int) usage {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	tv := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return usage{time.Now(), treeCPU(pids), tv(ru.Utime) + tv(ru.Stime), machineCPU() - treeCPU(helpers)}
}

// cpu adds CPU figures for a span in which count units of work were done.
func (r *report) cpu(pids []int, a, b usage, count float64, unit string) {
	wall := b.at.Sub(a.at).Seconds()
	if len(pids) > 0 {
		s := b.server - a.server
		r.put("server_cpu_s", s, "s")
		r.put("server_cpu_pct", 100*s/wall, "%")
		if count > 0 {
			r.put(unit+"_per_cpu_s", count/s, unit+"/CPU-s")
		}
	}
	r.put("xload_cpu_s", b.self-a.self, "s")
	r.put("xload_cpu_pct", 100*(b.self-a.self)/wall, "%")
	if len(pids) > 0 {
		// What the rest of the machine used, to judge how quiet it was.
		other := b.machine - a.machine - (b.server - a.server) - (b.self - a.self)
		r.put("other_cpu_pct", math.Max(0, 100*other/wall), "%")
	}
}

func (r *report) emit(jsonPath, name string, params []row) error {
	var sb strings.Builder
	sb.WriteString(`{"mode":` + quoteJSON(r.mode) + `,"server":` + quoteJSON(name))
	for _, list := range [][]row{params, r.rows} {
		for _, x := range list {
			v, err := json.Marshal(x.val)
			if err != nil {
				return err
			}
			sb.WriteString("," + quoteJSON(x.key) + ":" + string(v))
		}
	}
	sb.WriteString("}\n")
	fmt.Fprintf(os.Stderr, "%s %s\n", r.mode, name)
	for _, x := range r.rows {
		fmt.Fprintf(os.Stderr, "  %-26s %14v %s\n", x.key, x.val, x.unit)
	}
	if jsonPath == "" || jsonPath == "-" {
		_, err := os.Stdout.WriteString(sb.String())
		return err
	}
	f, err := os.OpenFile(jsonPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(sb.String())
	return err
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
