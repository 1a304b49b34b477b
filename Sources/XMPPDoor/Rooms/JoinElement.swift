import XMLStream
import XMPP

/// The element `<x xmlns='…muc'/>` of a client that enters a room (XEP-0045 7.2.1, 7.2.5, 7.2.14, 19.1).
struct JoinElement: Hashable, Sendable {
  /// The password; `nil` if none was sent, which differs from an empty one.
  var password: String?
  var history = HistoryRequest()
  /// The client's member list; `nil` if it keeps none (XEP-0463).
  var known: KnownMemberList?

  /// Reads the element. It never fails: unreadable parts are ignored, so that entering does not fail for them.
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
