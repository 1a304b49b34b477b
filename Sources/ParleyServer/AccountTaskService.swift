import Accounts
import Dialogs
import ServiceLifecycle

/// Goes on with what a process before has left of deletions, erasures and exports, and tries again what has failed.
struct AccountTaskService: Service {
  let accounts: Accounts

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat {
        // It logs what fails; where the store cannot be asked, the next time may be better.
        _ = try? await accounts.resumeAccountTasks()
        // Ends with the task.
      } while (try? await Task.sleep(for: ServerLimits.accountTaskInterval)) != nil
    }
  }
}
