import Basics
import Dialogs
import NIOCore
import Peers
import XMPP

/// The operator's view and actions, and the end of the link.
extension LinkDriver {
  /// The state of a link as operators see it.
  struct Life: Sendable {
    let state: FederationLinkStatus.State
    let failures: Int
    let reason: String?
    let next: Timestamp?
    let streams: [FederationStreamHandle]
  }

  var life: Life {
    func life(_ state: FederationLinkStatus.State, _ reason: String? = nil, _ next: Timestamp? = nil) -> Life {
      Life(state: state, failures: machine.failures, reason: reason, next: next, streams: streams)
    }
    switch machine.phase {
    case .idle, .stopped: return life(streams.isEmpty ? .idle : .open)
    case .queued, .opening: return life(.opening)
    case .open: return life(.open)
    case .backingOff(let until, let failure):
      return life(
        .backingOff, failure.reason, parley.clock.now + .nanoseconds((until - NIODeadline.now()).nanoseconds))
    }
  }

  /// Cancels the back-off after a failed attempt. Returns whether the link was backing off.
  func retry() -> Bool {
    guard case .backingOff = machine.phase else { return false }
    handle(.retry)
    return true
  }

  /// Closes all streams of the pair. Returns their number.
  @discardableResult func close(_ error: StreamError?) -> Int {
    let open = streams
    for stream in open { stream.run { $0.close(error) } }
    return open.count
  }

  /// Stops with the server: the streams are closed once what was written has been taken, or after `time`.
  ///
  /// - Parameter end: Succeeds when the streams have ended, or when the time is over.
  func stop(_ end: EventLoopPromise<Void>, within time: TimeAmount) {
    let link = link
    let late = end.futureResult.eventLoop.scheduleTask(in: time) {
      link.driver.close(StreamError(.systemShutdown))
      end.succeed()
    }
    end.futureResult.whenComplete { _ in late.cancel() }
    stopping = end
    handle(.stop)
    stopOn()
  }

  /// Closes the streams if everything written has been taken, and reports when they have ended.
  func stopOn() {
    guard let stopping, ledger.count == 0, !isRestDue else { return }
    if streams.isEmpty { return stopping.succeed() }
    guard !isShutDown else { return }
    isShutDown = true
    close(StreamError(.systemShutdown))
  }

  /// Ends the link with a domain that is no longer admitted: waiting messages are returned to their authors.
  func deny() {
    refuse(
      queue.take(before: nil),
      StanzaError(.remoteServerNotFound, "This server does not communicate with \(pair.remote)."))
    bounce(
      FederationFailure(
        .cancel, "not-allowed", "This server does not communicate with \(pair.remote). The message was not delivered."))
    work?.residents.end()
    handle(.denied)
    letGo()
    close(StreamError(.policyViolation))
  }
}
