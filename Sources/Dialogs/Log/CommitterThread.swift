import Dispatch
import Glibc
import Synchronization

/// The thread of the committer. It is a dedicated thread, since it blocks in the disk's sync for most of the time: a
/// pool's thread would be parked and woken for each commit, which costs more than the hop itself (measured with 300
/// messages a second).
///
/// States: asleep, possibly until a time that `work` has returned; working, until `work` finds nothing more; ended, once
/// its owner is gone.
final class CommitterThread: Sendable {
  private let signals = DispatchSemaphore(value: 0)
  private let state: Mutex<State>

  private struct State {
    var isEnding = false
    var afterwards: [@Sendable () -> Void] = []
  }

  /// Starts a thread, which runs `work` after each `wake`. `work` does all pending work, and returns the time at which it
  /// wants to run next, if any. With `completely`, it must also do work that could wait (shutdown).
  init(name: String, work: @escaping @Sendable (_ completely: Bool) -> DispatchTime?) {
    state = Mutex(State())
    let start = Start(name: name, thread: self, work: work)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { start in
        guard let start else { return nil }
        Unmanaged<Start>.fromOpaque(start).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(start).toOpaque())
    precondition(code == 0, "the system gives no thread: \(code)")
    pthread_detach(thread)
  }

  /// Wakes the thread; callable from any thread. A working thread looks again before it sleeps.
  func wake() { signals.signal() }

  /// Runs `body` on the thread, once all current work is done.
  func afterwards(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.afterwards.append(body) }
    signals.signal()
  }

  /// Ends the thread after the current work.
  func end() {
    state.withLock { $0.isEnding = true }
    signals.signal()
  }

  private final class Start: Sendable {
    let name: String
    let thread: CommitterThread
    let work: @Sendable (Bool) -> DispatchTime?

    init(name: String, thread: CommitterThread, work: @escaping @Sendable (Bool) -> DispatchTime?) {
      (self.name, self.thread, self.work) = (name, thread, work)
    }

    func run() {
      // The name that debuggers and profilers show; the system keeps 15 bytes.
      if let file = fopen("/proc/thread-self/comm", "w") {
        fputs(name, file)
        fclose(file)
      }
      var next: DispatchTime?
      while true {
        if let next { _ = thread.signals.wait(timeout: next) } else { thread.signals.wait() }
        let (afterwards, isEnding) = thread.state.withLock { state in
          defer { state.afterwards = [] }
          return (state.afterwards, state.isEnding)
        }
        next = work(isEnding || !afterwards.isEmpty)
        for body in afterwards { body() }
        if isEnding { return }
      }
    }
  }
}
