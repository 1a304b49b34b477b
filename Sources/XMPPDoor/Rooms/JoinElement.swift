import XMLStream
import XMPP

/// What a client that enters a room says in `<x xmlns='…muc'/>` (XEP-0045 7.2.1, 7.2.5, 7.2.14, 19.1).
struct JoinElement: Hashable, Sendable {
  /// Nil: none was said. An empty one was.
  var password: String?
  var history = HistoryRequest()
  /// Nil: the client keeps no member list (XEP-0463).
  var known: KnownMemberList?

  /// Never refused: what cannot be read was not said, and entering does not fail for it.
  init(_ element: Element) {
    password = element.first(.mucJoinPassword)?.text
    if let child = element.first(.mucJoinHistory) { history = HistoryRequest(child) }
    known = KnownMemberList(element)
  }

  init(password: String? = nil, history: HistoryRequest = HistoryRequest(), known: KnownMemberList? = nil) {
    self.password = password
    self.history = history
    self.known = known
  }
}
