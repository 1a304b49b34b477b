package main

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// alarm wakes its owner at a time. The runtime's own timers wait in epoll_wait, whose milliseconds make a stanza up to one of them late:
// with a message every few milliseconds that would be most of the latency measured. A timer of the kernel is exact to some ten
// microseconds, and is waited for as a socket is, so that nothing spins beside the readers.
type alarm struct {
	file *os.File
}

const clockMonotonic = 1

func newAlarm() (*alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	return &alarm{os.NewFile(fd, "timer")}, nil
}

// sleep returns after d, at once if that is past.
func (a *alarm) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	spec := struct{ interval, value syscall.Timespec }{value: syscall.NsecToTimespec(int64(d))}
	raw, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	if err != nil {
		return err
	}
	var expirations [8]byte
	_, err = a.file.Read(expirations[:])
	return err
}

func (a *alarm) close() { a.file.Close() }
