import Basics
import Logging
import NIOPosix
import ParleyServer
import ServerConfiguration
import ServiceLifecycle
import Synchronization

/// The machine's clock, set forward.
private final class MovableClock: Clock {
  private let ahead = Mutex(Duration.zero)
  var now: Timestamp { SystemClock().now + ahead.withLock { $0 } }
  func pass(_ time: Duration) { ahead.withLock { $0 += time } }
}

/// A whole server in this process: its own data folder, ports of its own, no process to wait for.
public final class TestServer: PlayServer {
  private let folder: ServerFolder
  private let settings: Settings
  private let running = Mutex<Running?>(nil)
  private let clock = MovableClock()

  private struct Running: Sendable {
    let group: ServiceGroup
    let task: Task<Void, any Error>
    let log: LogReader
  }

  public var address: Address { folder.address }

  /// Starts a server with these settings over the usual ones of a test.
  public static func start(_ settings: [Play.Setting] = []) async throws -> TestServer {
    let server = try TestServer(settings)
    try await server.start()
    return server
  }

  private init(_ own: [Play.Setting]) throws {
    folder = try ServerFolder(own)
    // A command line would not take secrets.
    let variables = folder.settings.map { (Self.variable($0.key), $0.value) }
    var settings = try Settings.load(
      SettingsArguments(file: folder.file), environment: Dictionary(variables) { _, last in last })
    // The plays compute proofs in a debug build, which takes seconds with the usual number.
    if settings.registrationProofBits != nil { settings.registrationProofBits = 12 }
    self.settings = settings
  }

  private static func variable(_ key: String) -> String {
    "PARLEY_" + key.uppercased().replacing(".", with: "_")
  }

  private struct Whole: Service {
    let settings: Settings
    let log: ServerLog
    let clock: MovableClock

    func run() async throws {
      try await Server.run(
        settings, demo: false, log: log, signals: [], clock: clock, reread: { settings }, greet: { _ in })
    }
  }

  private func start() async throws {
    let log = try await LogReader.open()
    let service = Whole(settings: settings, log: ServerLog(level: settings.logLevel, file: log.writer), clock: clock)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
    let task = Task {
      do { try await group.run() } catch {
        log.failed(error)
        throw error
      }
    }
    running.withLock { $0 = Running(group: group, task: task, log: log) }
    try await log.waitUntilReady(MultiThreadedEventLoopGroup.singleton.next())
  }

  private func halt() async throws {
    guard let running = running.withLock({ $0.take() }) else { return }
    await running.group.triggerGracefulShutdown()
    defer { running.log.closeWriter() }
    try await running.task.value
  }

  public func restart() async throws {
    try await halt()
    try await start()
  }

  /// Sets the server's clock forward. What waits on a timer goes on waiting for the machine's time.
  public func pass(_ time: Duration) { clock.pass(time) }

  public func kill() async throws { throw PlayerError("a server in the test's own process cannot be killed") }

  /// Stops the server and removes its data.
  public func stop() async throws {
    defer { folder.remove() }
    try await halt()
  }

  /// The last lines of the log.
  public var log: String { running.withLock { $0?.log.text } ?? "" }
}
