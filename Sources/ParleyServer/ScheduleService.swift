import Dialogs
import ServiceLifecycle

/// Sends messages at their time.
struct ScheduleService: Service {
  let scheduler: Scheduler

  func run() async throws {
    await cancelWhenGracefulShutdown { await scheduler.run() }
  }
}

/// Ends calls that rang too long.
struct CallService: Service {
  let timer: CallTimer

  func run() async throws {
    await cancelWhenGracefulShutdown { await timer.run() }
  }
}
