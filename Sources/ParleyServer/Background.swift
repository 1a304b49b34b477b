import Accounts
import Basics
import Dialogs
import Logging
import ServiceLifecycle

/// A service that runs a function until shutdown; the function ends when its task is cancelled.
struct Background: Service {
  private let body: @Sendable () async -> Void

  init(_ body: @escaping @Sendable () async -> Void) { self.body = body }

  /// Creates a service that runs a function at once, and then at an interval.
  init(every interval: Duration, _ body: @escaping @Sendable () async -> Void) {
    self.body = {
      // The sleep throws when the task is cancelled.
      repeat { await body() } while (try? await Task.sleep(for: interval)) != nil
    }
  }

  func run() async throws { await cancelWhenGracefulShutdown { await body() } }
}

extension Background {
  /// Returns the services that act at the time that rows or clocks say: they remove expired files, guests, and messages
  /// and accounts by their age, resume
  /// the deletions, erasures and exports that failed or that an earlier process left, send scheduled messages, and end
  /// calls that rang too long, what servers elsewhere do not take, and typing that was not renewed. They also remove the
  /// stanzas of sessions that nobody has resumed, and the counts of old streams.
  static func timed(_ accounts: Accounts, _ logger: Logger) -> [any Service] {
    let parley = accounts.parley
    return [
      Background(every: ServerLimits.blobSweepInterval) {
        do throws(Problem) {
          let count = try await UserFiles(parley).sweep()
          if count > 0 { logger.info("files removed", metadata: ["count": "\(count)"]) }
        } catch {
          logger.error("files could not be removed", metadata: ["reason": "\(error.text)"])
        }
      },
      Background(every: ServerLimits.guestSweepInterval) {
        do throws(Problem) {
          let count = try await accounts.sweepGuests()
          if count > 0 { logger.debug("guests removed", metadata: ["count": "\(count)"]) }
        } catch {
          logger.error("guests could not be removed", metadata: ["reason": "\(error.text)"])
        }
      },
      Background(every: ServerLimits.retentionInterval) {
        do throws(Problem) { try await accounts.retain() } catch {
          // An operator's own run does the same.
          if error.kind == .conflict { return }
          logger.error("retention has failed", metadata: ["reason": "\(error.text)"])
        }
      },
      Background(every: ServerLimits.archivedStanzasInterval) {
        let time = parley.clock.now + (.zero - ServerLimits.archivedStanzasInterval)
        let limit = ServerLimits.archivedStanzasRemovedMax
        // A failing store is tried again the next time.
        while let count = try? await parley.work(
          keepingCaches: true, { try $0.removeStanzas(expiredBefore: time, limit: limit) }), count == limit
        {}
      },
      Background(every: ServerLimits.streamCountsInterval) {
        let now = parley.clock.now
        let time = now + (.zero - ServerLimits.streamCountsKept)
        let run = now.milliseconds / 1_000 / ServerLimits.streamCountsInterval.components.seconds
        let slice = UInt8(truncatingIfNeeded: run)
        // A failing store is tried again when the slice is due again.
        try? await parley.work(keepingCaches: true) { try $0.removeStreams(before: time, slice: slice) }
      },
      Background(every: ServerLimits.accountTaskInterval) {
        // Failures are logged there; a failing store is tried again the next time.
        _ = try? await accounts.resumeAccountTasks()
        parley.continueRoomEnds()
      },
      Background { await ScheduledMessages(parley).timer.run() },
      Background { await Calls(parley).timer.run() },
      Background { await OutboxExpiry(parley).timer.run() },
      Background { await parley.typingTimer.run() },
      Background { await parley.bookmarkListTimer.run() },
    ]
  }
}
