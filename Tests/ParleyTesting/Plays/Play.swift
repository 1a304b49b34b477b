public import JSON

/// A scripted conversation: its players, then their actions, line by line. The text format is described in
/// `Tests/Plays/README.md`; `PlayParser` reads it.
public struct Play: Sendable {
  /// The file's name, for messages about the play.
  public var name: String
  /// Keys of the server's configuration, as `conf/parley.yaml` names them.
  public var settings: [Setting]
  public var cast: [Role]
  /// Pairs who are each other's contacts when the play begins.
  public var friends: [Friendship]
  public var lines: [Line]

  public struct Setting: Hashable, Sendable {
    public var key: String
    public var value: String
  }

  public struct Friendship: Hashable, Sendable {
    public var first: String
    public var second: String
  }

  public struct Line: Sendable {
    /// The line of the file, from 1.
    public var number: Int
    public var act: Act
  }

  /// The names of its scenes, in order.
  public var scenes: [String] {
    lines.compactMap { if case .sceneBegins(let name) = $0.act { name } else { nil } }
  }

  /// A play that needs a server that can be killed runs against the binary, all others in process.
  public var needsProcess: Bool {
    lines.contains { if case .serverIsKilled = $0.act { true } else { false } }
  }
}

/// A player: a session of a user, in one of the two protocols.
public struct Role: Hashable, Sendable {
  public enum Door: String, Sendable, CaseIterable { case xmpp, app }

  /// The options of a player.
  public enum Option: String, Sendable, CaseIterable {
    /// Has an account, but is not connected when the play begins.
    case absent
    /// Has no account and is not connected.
    case stranger
    /// Connects, and nothing more: the script speaks all of the protocol, in bytes.
    case raw
    /// XMPP: negotiates no further than authentication.
    case unbound
    /// XMPP: binds, but sends no presence.
    case silent
    /// XMPP: direct TLS, or TLS by STARTTLS; otherwise none.
    case tls, starttls
    /// XMPP: asks for carbons (XEP-0280).
    case carbons
    /// XMPP: stream management with resumption (XEP-0198).
    case management
    /// XMPP: fetches the roster before the first presence, and so gets pushes.
    case roster
    /// XMPP: fetches the block list, and so gets pushes (XEP-0191).
    case blocklist
    /// XMPP: the SASL mechanism; SCRAM-SHA-256 otherwise.
    case sha1 = "sha-1"
    case sha512 = "sha-512"
    case plain
  }

  /// Begins with a capital letter.
  public var name: String
  public var door: Door
  public var user: String
  public var domain: String
  /// XMPP: the resource; app: the device's id.
  public var resource: String?
  public var options: Set<Option>
  /// XMPP: the priority of presence.
  public var priority: Int

  public var isAbsent: Bool { options.contains(.absent) || options.contains(.stranger) }
  public var isRaw: Bool { options.contains(.raw) }
  public var address: String { "\(user)@\(domain)" }
}

/// The action of one line of a play.
public enum Act: Sendable {
  case connects(String)
  /// Closes the stream or the WebSocket as the protocol asks.
  case disconnects(String)
  /// The connection is cut without a word.
  case goesAway(String)
  /// Stops reading: what the server sends from here on is lost with the connection.
  case goesDeaf(String)
  /// Connects again and resumes: XEP-0198, or the app's cursor.
  case resumes(String)
  /// Tries to resume, is refused with a matching answer, and continues as a new session.
  case cannotResume(String, [Pattern])
  /// Text with captures to be filled in.
  case sends(String, String)
  /// The items arrive in this order, answers to IQs side by side in any; others between them remain unread.
  case receives(String, [Pattern])
  case receivesNothing(String)
  /// No unread item matches any of these.
  case receivesNo(String, [Pattern])
  /// None of these texts stands in anything that the player ever got.
  case wasNeverTold(String, [String])
  case isDisconnected(String)
  /// The unread items of these players are discarded.
  case skipsTheRest([String])
  case does(String, Request)
  /// A call of the admin socket.
  case operatorDoes(Request)
  /// All that is unread is forgotten.
  case sceneBegins(String)
  case serverRestarts
  case serverIsKilled
  /// The server's clock is set forward.
  case timePasses(Duration)

  /// A call of the app's REST protocol, or of the admin socket. Body and path may have captures.
  public struct Request: Sendable {
    public var method: String
    public var path: String
    public var body: String?
    /// nil: any success.
    public var status: Int?
    /// The pattern of the answer's body.
    public var answer: JSONPattern?
  }
}
