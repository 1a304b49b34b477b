import Dialogs
import XMPP

extension Turn {
  /// Runs `body` once everything the session has posted so far is committed and in its contact snapshot, at once if
  /// nothing is under way: an answer then includes the same client's earlier changes (RFC 6120 10.1). An error that
  /// `body` throws is sent back.
  func afterPosts(_ body: @escaping () throws(StanzaError) -> Void) {
    session.afterPosts { [self] in
      do throws(StanzaError) { try body() } catch { fail(error) }
    }
  }

  /// Posts; success is answered with an empty result.
  func postAndReply(_ intent: Intent) {
    post(intent) { [self] result in
      switch result {
      case .success: reply()
      case .failure(let problem): fail(problem)
      }
    }
  }
}

extension XMPPSession {
  /// The session in the hub, with its switches for carbons, roster and block list pushes. They are kept there, so that
  /// they survive a resumption.
  var onlineSession: OnlineSession? { parley.hub.onlineSessions(of: party.id).first { $0.session === handle } }
}
