/// Who of a user's sessions gets a message, and in what dress: RFC 6121 8.5 and
/// XEP-0280 6 as pure functions over what the hub knows.
///
/// A message to a bare JID goes to every available resource of non-negative
/// priority; to a full JID, to that resource, else as if to the bare JID (chat;
/// `Judge.checkResource` has refused the rest), or nowhere (headline, error). Every other resource that enabled
/// carbons gets a copy, also one of negative priority; copies are made of
/// messages between people only. App sessions follow everything.
enum Routing {
  enum Kind: Sendable {
    /// chat, normal: to whoever is there.
    case conversation
    /// headline: live only, no copies.
    case headline
    /// error, groupchat (which only a room that lives elsewhere passes on): the exact resource or nobody.
    case error

    init(_ type: Envelope.MessageType) {
      self =
        switch type {
        case .chat, .normal: .conversation
        case .headline: .headline
        case .groupchat, .error: .error
        }
    }
  }

  /// For the addressee's sessions. `direct` is false where only copies may be
  /// made (nobody was addressed).
  static func recipients(
    _ attendances: [Attendance], resource: String?, kind: Kind, copies: Bool, except author: SessionID?,
    _ take: (any LiveSession, Form) -> Void
  ) {
    var exact: SessionID?
    // Another server knows its resources itself.
    if let link = attendances.first, link.door == .remote { return take(link.session, .direct) }
    if let resource {
      exact = attendances.first { $0.door == .xmpp && $0.resource == resource }?.session.id
      if exact == nil && kind != .conversation { return followers(attendances, kind, author, take) }
    } else if kind == .error {
      return
    }
    for attendance in attendances where attendance.session.id != author {
      switch attendance.door {
      case .app:
        if kind != .error { take(attendance.session, .feed) }
      case .xmpp:
        let direct =
          if let exact { attendance.session.id == exact } else {
            attendance.isAvailable && attendance.priority >= 0
          }
        if direct {
          take(attendance.session, .direct)
        } else if copies, attendance.carbons, kind == .conversation {
          take(attendance.session, .carbonReceived)
        }
      case .remote: break
      }
    }
  }

  private static func followers(
    _ attendances: [Attendance], _ kind: Kind, _ author: SessionID?, _ take: (any LiveSession, Form) -> Void
  ) {
    guard kind == .headline else { return }
    for attendance in attendances where attendance.door == .app && attendance.session.id != author {
      take(attendance.session, .feed)
    }
  }

  /// For the author's other sessions.
  static func copies(
    _ attendances: [Attendance], copies: Bool, except author: SessionID?,
    _ take: (any LiveSession, Form) -> Void
  ) {
    for attendance in attendances {
      switch attendance.door {
      case .app: take(attendance.session, .feed)
      case .xmpp:
        if copies, attendance.carbons, attendance.session.id != author { take(attendance.session, .carbonSent) }
      case .remote: break
      }
    }
  }
}
