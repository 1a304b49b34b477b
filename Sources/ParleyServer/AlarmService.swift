import Dialogs
import ServiceLifecycle

/// Does things at their time: sends scheduled messages, ends calls that rang too long.
struct AlarmService: Service {
  let alarm: Alarm

  func run() async throws {
    await cancelWhenGracefulShutdown { await alarm.run() }
  }
}
