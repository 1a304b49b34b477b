import Dialogs
import XMPP

extension Turn {
  /// Runs once everything the session has posted so far is committed and known
  /// to its card, at once when nothing is under way: an answer then tells what
  /// the same client changed just before (RFC 6120 10.1). What `body` throws
  /// goes back as the error.
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
  /// What the hub knows of this session: whether it wants carbons, roster and
  /// block list pushes. Kept there, so that it survives a resumption.
  var onlineSession: OnlineSession? { parley.hub.onlineSessions(of: party.id).first { $0.session === handle } }
}
