import Dialogs
import Logging
import ServiceLifecycle

/// Removes files whose time is over.
struct BlobSweeper: Service {
  let parley: Parley
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat {
        do throws(Problem) {
          let count = try await parley.sweepBlobs()
          if count > 0 { logger.info("files removed", metadata: ["count": "\(count)"]) }
        } catch {
          logger.error("files could not be removed", metadata: ["reason": "\(error.text)"])
        }
        // Ends with the task.
      } while (try? await Task.sleep(for: ServerLimits.blobSweepInterval)) != nil
    }
  }
}
