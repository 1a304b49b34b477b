/// Decides which of a user's sessions get a message, and in what form: RFC 6121 8.5 and XEP-0280 6 as pure functions of
/// the hub's records.
///
/// A message to a bare JID goes to every available resource of non-negative priority; to a full JID, to that resource,
/// else as if to the bare JID (chat; `Judge.checkResource` has refused the rest), or nowhere (headline, error). Every
/// other resource that enabled carbons gets a copy, also one of negative priority; only messages between users are
/// copied. App sessions get everything.
enum Routing {
  enum Kind: Sendable {
    /// Chat, normal: for all available sessions.
    case conversation
    /// Headline: live only, no copies.
    case headline
    /// Error, and groupchat (which only a remote room's server relays): for the exact resource or none.
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

  /// Finds the addressee's sessions. `copies` tells whether carbons may be made.
  static func recipients(
    _ onlineSessions: [OnlineSession], resource: String?, kind: Kind, copies: Bool, except author: SessionID?,
    _ take: (any LiveSession, Form) -> Void
  ) {
    var exact: SessionID?
    // Another server routes to its resources itself.
    if let link = onlineSessions.first, link.door == .remote { return take(link.session, .direct) }
    if let resource {
      exact = onlineSessions.first { $0.door == .xmpp && $0.resource == resource }?.session.id
      if exact == nil && kind != .conversation { return followers(onlineSessions, kind, author, take) }
    } else if kind == .error {
      return
    }
    for onlineSession in onlineSessions where onlineSession.session.id != author {
      switch onlineSession.door {
      case .app:
        if kind != .error { take(onlineSession.session, .feed) }
      case .xmpp:
        let direct =
          if let exact { onlineSession.session.id == exact } else {
            onlineSession.isAvailable && onlineSession.priority >= 0
          }
        if direct {
          take(onlineSession.session, .direct)
        } else if copies, onlineSession.carbons, kind == .conversation {
          take(onlineSession.session, .carbonReceived)
        }
      case .remote: break
      }
    }
  }

  private static func followers(
    _ onlineSessions: [OnlineSession], _ kind: Kind, _ author: SessionID?, _ take: (any LiveSession, Form) -> Void
  ) {
    guard kind == .headline else { return }
    for onlineSession in onlineSessions where onlineSession.door == .app && onlineSession.session.id != author {
      take(onlineSession.session, .feed)
    }
  }

  /// Finds the author's other sessions.
  static func copies(
    _ onlineSessions: [OnlineSession], copies: Bool, except author: SessionID?,
    _ take: (any LiveSession, Form) -> Void
  ) {
    for onlineSession in onlineSessions {
      switch onlineSession.door {
      case .app: take(onlineSession.session, .feed)
      case .xmpp:
        if copies, onlineSession.carbons, onlineSession.session.id != author {
          take(onlineSession.session, .carbonSent)
        }
      case .remote: break
      }
    }
  }
}
