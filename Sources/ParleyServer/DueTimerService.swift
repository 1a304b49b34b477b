import Dialogs
import ServiceLifecycle

/// Runs the due timer, which sends scheduled messages and ends calls that rang too long.
struct DueTimerService: Service {
  let alarm: DueTimer

  func run() async throws {
    await cancelWhenGracefulShutdown { await alarm.run() }
  }
}
