import Dialogs
import ServiceLifecycle

/// Does things at their time: sends scheduled messages, ends calls that rang too long.
struct DueTimerService: Service {
  let alarm: DueTimer

  func run() async throws {
    await cancelWhenGracefulShutdown { await alarm.run() }
  }
}
