import Glibc
import NIOPosix
import ServerConfiguration
import Synchronization

/// The binary itself, in a process that can be killed.
public final class ServerProcess: PlayServer {
  private let binary: String
  private let folder: ServerFolder
  private let running = Mutex<(process: pid_t, log: LogReader)?>(nil)

  public var address: Address { folder.address }

  /// - Parameter binary: the path of `parley`.
  public static func start(_ binary: String, _ settings: [Play.Setting] = []) async throws -> ServerProcess {
    let server = try ServerProcess(binary, settings)
    try await server.start()
    return server
  }

  private init(_ binary: String, _ own: [Play.Setting]) throws {
    self.binary = binary
    folder = try ServerFolder(own)
  }

  private func start() async throws {
    let log = try await LogReader.open()
    var environment = folder.settings.map { key, value in
      "PARLEY_" + key.map { $0 == "." ? "_" : $0.uppercased() }.joined() + "=" + value
    }
    environment.append("PATH=/usr/bin:/bin")
    // A crash must not start a symbolicator before it is noticed.
    environment.append("SWIFT_BACKTRACE=enable=no")
    let process = try Self.spawn([binary, "serve", "--config", folder.file, "--no-demo"], environment, log.writer)
    log.closeWriter()
    running.withLock { $0 = (process, log) }
    try await log.waitUntilReady(MultiThreadedEventLoopGroup.singleton.next())
  }

  /// The bound is more than a test process ever has open.
  private static let filesMax: Int32 = 8_192

  private static func spawn(_ arguments: [String], _ environment: [String], _ log: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, log, 2)
    // The sockets of servers in this process must stay here, or their ports would be in use after their end.
    for file in Int32(3)..<filesMax {
      let flags = fcntl(file, F_GETFD)
      if flags >= 0 { _ = fcntl(file, F_SETFD, flags | FD_CLOEXEC) }
    }
    var process: pid_t = 0
    let argv = arguments.map { strdup($0) } + [nil]
    let envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    let result = posix_spawn(&process, arguments[0], &actions, nil, argv, envp)
    guard result == 0 else { throw PlayerError("\(arguments[0]) cannot be started: \(result)") }
    return process
  }

  /// Sends a signal and waits for the end of the process, off the event loops.
  private func end(_ signal: Int32) async throws {
    guard
      let (process, _) = running.withLock({ running in
        defer { running = nil }
        return running
      })
    else { return }
    Glibc.kill(process, signal)
    try await NIOThreadPool.singleton.runIfActive {
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }
  }

  public func restart() async throws {
    try await end(SIGTERM)
    try await start()
  }

  public func pass(_ time: Duration) throws {
    throw PlayerError("the clock of a server's own process is the machine's")
  }

  public func kill() async throws {
    try await end(SIGKILL)
    try await start()
  }

  /// Stops the server and removes its data.
  public func stop() async throws {
    defer { folder.remove() }
    try await end(SIGTERM)
  }

  /// The last lines of the log.
  public var log: String { running.withLock { $0?.log.text } ?? "" }
}
