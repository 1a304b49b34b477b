import CChildProcess
import Glibc

/// A child process that reads untrusted data, so that an exploit is confined to it. It has no descriptor of the server
/// except the input file and the output pipe, an environment of its own, and bounds on memory, time and output.
struct ChildProgram: Sendable {
  /// The program's absolute path and its arguments.
  let arguments: [String]
  var environment: [String] = []
  var bounds: Bounds?

  /// The bounds: memory in bytes, processor time in seconds, length of a file in bytes; and the niceness (nice(1)), by which the
  /// program has less of a busy processor than the server.
  struct Bounds: Sendable {
    let memory: Int
    let seconds: Int
    let fileBytes: Int
    let niceness: Int
  }

  enum Outcome: Equatable {
    case ended(status: Int32, output: [UInt8])
    /// The process was killed, at a bound, by a crash, for too much output or for too much time.
    case killed
    /// The process was not started.
    case failed(Int32)
  }

  /// Returns the first program of this name on the path; nil if there is none.
  static func find(_ name: String) -> String? {
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  /// Runs the program and blocks until it has ended.
  ///
  /// - Parameters:
  ///   - input: The descriptor of its standard input, read from the current position.
  ///   - outputMax: The maximum length of its output in bytes; it is killed beyond that.
  ///   - time: The time after which it is killed.
  func run(input: Int32, outputMax: Int, time: Duration) -> Outcome {
    let end = ContinuousClock.now + time
    var pipes: [Int32] = [-1, -1]
    guard pipe(&pipes) == 0 else { return .failed(errno) }
    let (reading, writing) = (pipes[0], pipes[1])
    for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(reading) }
    var child: pid_t = 0
    let code = spawn(&child, input: input, output: writing)
    close(writing)
    guard code == 0 else { return .failed(code) }
    var output: [UInt8] = []
    let isWhole = read(reading, into: &output, max: outputMax, until: end)
    if !isWhole { kill(-child, SIGKILL) }
    var status: Int32 = 0
    while true {
      let found = waitpid(child, &status, isWhole ? WNOHANG : 0)
      if found == child { break }
      if found < 0, errno != EINTR { return .failed(errno) }
      if found == 0 {
        // The process has closed its output and still runs; it may use the remaining time.
        if ContinuousClock.now >= end { kill(-child, SIGKILL) }
        usleep(1_000)
      }
    }
    // The low seven bits are the terminating signal, the next eight the exit status (wait(2)).
    return isWhole && status & 0x7f == 0 ? .ended(status: status >> 8 & 0xff, output: output) : .killed
  }

  /// Reads the output; false if it is too long or not in time.
  private func read(
    _ file: Int32, into output: inout [UInt8], max: Int, until end: ContinuousClock.Instant
  ) -> Bool {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      let left = (end - ContinuousClock.now).components
      let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000
      if milliseconds <= 0 { return false }
      var waiting = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      let ready = poll(&waiting, 1, Int32(clamping: milliseconds))
      if ready < 0, errno != EINTR { return false }
      if ready <= 0 { continue }
      let count = Glibc.read(file, &piece, piece.count)
      if count < 0 {
        if errno == EINTR { continue }
        return false
      }
      if count == 0 { return true }
      guard output.count + count <= max else { return false }
      output.append(contentsOf: piece[..<count])
    }
  }

  /// The arguments of a shell that sets the bounds and then becomes the program, since posix_spawn cannot set them. If
  /// a bound cannot be set, the program is not run. Where there is no memory left, the system ends the program rather than the server
  /// (proc_pid_oom_score_adj(5)); a system without that file runs it all the same.
  private var command: [String] {
    guard let bounds else { return arguments }
    let script =
      "echo 1000 >/proc/self/oom_score_adj; ulimit -c 0 && ulimit -v \(bounds.memory / 1_024) "
      + "&& ulimit -t \(bounds.seconds) && ulimit -f \((bounds.fileBytes + 511) / 512) "
      + "&& exec nice -n \(bounds.niceness) \"$@\""
    return ["/bin/sh", "-c", script, "sh"] + arguments
  }

  private func spawn(_ child: inout pid_t, input: Int32, output: Int32) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    parley_spawn_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The process has a group of its own, which can be killed as a whole, and default signal handling.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let command = command
    var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in words + variables { free(text) } }
    return posix_spawn(&child, command[0], &actions, &attributes, &words, &variables)
  }
}
