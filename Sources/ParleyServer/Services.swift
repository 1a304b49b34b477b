import Accounts
import Administration
import Basics
import Dialogs
import Glibc
import Logging
import NIOCore
import ServerConfiguration
import ServiceLifecycle
import Synchronization

/// Counts the parts that have to be open before the server is ready.
final class Readiness: Sendable {
  private struct State {
    var expected: Int?
    var arrived = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var waits = 0
  }
  private let state = Mutex(State())

  /// Sets the number of parts; called before `wait`.
  func expect(_ count: Int) {
    wake { $0.expected = count }
  }

  func arrive() {
    wake { $0.arrived += 1 }
  }

  private func wake(_ change: (inout State) -> Void) {
    let ready: [CheckedContinuation<Void, Never>] = state.withLock { state in
      change(&state)
      guard let expected = state.expected, state.arrived >= expected else { return [] }
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiting in ready { waiting.resume() }
  }

  /// Returns when all parts have arrived; false if the task was cancelled.
  func wait() async -> Bool {
    let number = state.withLock { state in
      state.waits += 1
      return state.waits
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if Task.isCancelled { return true }
          if let expected = state.expected, state.arrived >= expected { return true }
          state.waiting[number] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
    return state.withLock { $0.expected.map { [arrived = $0.arrived] in arrived >= $0 } ?? false }
  }
}

/// Closes the core, after all services that may still post.
struct CoreService: Service {
  let core: Core
  let logger: Logger

  func run() async throws {
    // Cancellation and graceful shutdown both end the service.
    try? await gracefulShutdown()
    await core.close(logger)
  }
}

/// Says that the server stops, as soon as it does: the last in the list of services, so the first that is told.
struct StopReport: Service {
  let core: Core

  func run() async throws {
    try? await gracefulShutdown()
    core.parley.setPhase(.stopping)
  }
}

/// Ends the backups under way when the server stops.
struct BackupService: Service {
  let backup: DataBackup

  func run() async throws {
    try? await gracefulShutdown()
    await backup.running.stop()
  }
}

struct AdminService: Service {
  let settings: Settings
  let context: AdminContext
  let loops: any EventLoopGroup
  let readiness: Readiness
  let logger: Logger

  func run() async throws {
    let socket = try await AdminSocket.listen(
      at: settings.adminSocket, of: settings.data, group: loops, context: context, logger: logger)
    readiness.arrive()
    try? await gracefulShutdown()
    await socket.close()
    unlink(settings.adminSocket)
  }
}

/// Reports that the server is ready, and on the first start the demo users. They are created only now, so that a first
/// start that fails for a port in use does not create users whose passwords were never shown.
struct ReadinessReport: Service {
  let settings: Settings
  let core: Core
  let demo: Bool?
  let readiness: Readiness
  let logger: Logger
  let greet: @Sendable (String) -> Void

  func run() async throws {
    guard await cancelWhenGracefulShutdown({ await readiness.wait() }) else { return }
    if let users = try await FirstStart.run(core, settings, demo: demo), !users.isEmpty {
      greet(FirstStart.greeting(users, settings))
    }
    for doubt in try await core.accounts.doubts(about: settings.reservedNames) { logger.warning("\(doubt.text)") }
    let domains = settings.domains.map(\.name)
    let unserved = try await core.parley.read { try Accounts.unserved(besides: domains, $0) }
    for text in try await unserved + core.keyDoubts() { logger.warning("\(text)") }
    core.parley.setPhase(.ready)
    logger.notice(
      "ready",
      metadata: ["domains": "\(settings.domains.map(\.name).joined(separator: ","))", "url": "\(settings.publicURL)"])
    try? await gracefulShutdown()
  }
}

/// Raises the limit of open files to the system's maximum: each connection is one.
enum OpenFiles {
  /// The limit of this process; nil if the system does not say it.
  static var limit: Int? {
    var limits = rlimit()
    return getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits) == 0 ? Int(clamping: limits.rlim_cur) : nil
  }

  /// The limit to which a process of this user can raise its own.
  static var highest: Int? {
    var limits = rlimit()
    return getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits) == 0 ? Int(clamping: limits.rlim_max) : nil
  }

  static func raise(_ logger: Logger) {
    let kind = Int32(RLIMIT_NOFILE.rawValue)
    var limits = rlimit()
    guard getrlimit(kind, &limits) == 0, limits.rlim_cur < limits.rlim_max else { return }
    limits.rlim_cur = limits.rlim_max
    if setrlimit(kind, &limits) != 0 {
      logger.warning("the limit of open files stays low", metadata: ["reason": "\(Files.reason(errno))"])
    }
  }
}
