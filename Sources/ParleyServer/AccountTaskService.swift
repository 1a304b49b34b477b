import Accounts
import Dialogs
import ServiceLifecycle

/// Resumes the deletions, erasures and exports that an earlier process left, and retries failed ones.
struct AccountTaskService: Service {
  let accounts: Accounts

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat {
        // Failures are logged there; a failing store is tried again the next time.
        _ = try? await accounts.resumeAccountTasks()
        // The sleep throws when the task is cancelled.
      } while (try? await Task.sleep(for: ServerLimits.accountTaskInterval)) != nil
    }
  }
}
