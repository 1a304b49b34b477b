import Dialogs
import Logging
import ServiceLifecycle

/// Removes expired files.
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
        // The sleep throws when the task is cancelled.
      } while (try? await Task.sleep(for: ServerLimits.blobSweepInterval)) != nil
    }
  }
}
