import Accounts
import Dialogs
import Logging
import ServiceLifecycle

/// Removes guests whose time has expired.
struct GuestSweeper: Service {
  let accounts: Accounts
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      // The sleep throws when the task is cancelled.
      while (try? await Task.sleep(for: ServerLimits.guestSweepInterval)) != nil {
        do throws(Problem) {
          let count = try await accounts.sweepGuests()
          if count > 0 { logger.debug("guests removed", metadata: ["count": "\(count)"]) }
        } catch {
          logger.error("guests could not be removed", metadata: ["reason": "\(error.text)"])
        }
      }
    }
  }
}
