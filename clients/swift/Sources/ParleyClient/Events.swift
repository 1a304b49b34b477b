/// `stopped`: not connected, by choice or signed out. `connecting`: the first attempt, or right after a loss. `online`: live events
/// arrive. `waiting`: the next attempt comes later.
public enum ConnectionState: String, Sendable { case stopped, connecting, online, waiting }

/// What a client tells its app: see ``Parley/events()``.
public enum Event: Sendable {
  /// The connection's state changed.
  case connection(ConnectionState, error: ParleyError?)
  /// Signed in, or out: then the error says why, unless ``Parley/signOut()`` was called.
  case session(signedIn: Bool, error: ParleyError?)
  /// These dialogs of the local list changed, were added or removed; nil: many of them, read the list again.
  case dialogs(ids: [String]?)
  case unread(totalUnread: Int, totalMentions: Int)
  /// A message arrived, also while replaying: for notifications and bots. `isOwn`: the user sent it, here or elsewhere.
  case message(Message, isOwn: Bool, isReplay: Bool)
  /// A message of the outbox in its new state.
  case outbox(LocalMessage)
  /// It was sent, as this message, or discarded: nil.
  case sent(clientId: String, dialogId: String, message: Message?)
  /// Those who type in a dialog.
  case typing(dialogId: String, userIds: [String])
  case presence(Presence)
  /// A call rings, was answered, or ended.
  case call(Call)
  /// The other device of a call sent a signal.
  case signal(Call, CallSignal)
  /// The local state was fetched anew, because events were lost: read everything again. `reader-behind`: this reader has not read the last
  /// 10,000 events.
  case resync(reason: String)
  /// Something failed in the background.
  case error(ParleyError)
  /// Every event of the protocol as it is, after its effect.
  case server(ServerEvent)
}

/// The events of the protocol: see asyncapi.yaml.
public enum ServerEvent: Hashable, Sendable {
  case ready(Ready)
  case caughtUp(CaughtUp)
  case resync(Resync)
  case messageCreated(Message)
  case messageUpdated(Message)
  case messageDeleted(MessageDeleted)
  case messageStarred(MessageStarred)
  case markerUpdated(Marker)
  case contactUpdated(ContactUpdated)
  case contactsChanged(ContactsChanged)
  case blockUpdated(BlockUpdated)
  case userUpdated(User)
  case dialogCreated(DialogChanged)
  case dialogUpdated(DialogChanged)
  case dialogDeleted(DialogDeleted)
  case dialogCleared(DialogCleared)
  case dialogInvited(DialogInvited)
  case memberUpdated(MemberUpdated)
  case settingsUpdated(DialogSettings)
  case draftUpdated(DraftUpdated)
  case scheduledUpdated(ScheduledUpdated)
  case callUpdated(CallState)
  case callSignal(CallSignaled)
  case custom(Custom)
  case typingUpdated(TypingUpdated)
  case presenceUpdated(Presence)
  case unreadUpdated(UnreadUpdated)
  case sessionRevoked(SessionRevoked)
  case goaway(GoAway)
  /// A type of a later server. Its effect, if it has any, is not known.
  case unknown(type: String, data: JSONObject)

  public struct Ready: Codable, Hashable, Sendable {
    public var user: User
    public var deviceId, cursor: String
    public var features: [String]
  }
  public struct CaughtUp: Codable, Hashable, Sendable {
    public var cursor: String
    public var totalUnread, totalMentions: Int
  }
  public struct Resync: Codable, Hashable, Sendable { public var reason, cursor: String }
  public struct MessageDeleted: Codable, Hashable, Sendable {
    public var dialogId, messageId, by: String
    public var reason: String?
    /// `me` or `everyone`.
    public var `for`: String
    /// The message as it is left; nil if it was deleted for the user alone.
    public var message: Message?
  }
  public struct MessageStarred: Codable, Hashable, Sendable {
    public var dialogId, messageId: String
    public var starred: Bool
  }
  public struct ContactUpdated: Codable, Hashable, Sendable {
    public var contact: Contact
    public var removed: Bool
  }
  public struct ContactsChanged: Codable, Hashable, Sendable {
    /// `joined`, `left` or `renamed`.
    public var change: String
    public var userIds: [String]
  }
  public struct BlockUpdated: Codable, Hashable, Sendable {
    public var blocks: [Block]
    public var blocked: Bool
  }
  public struct DialogChanged: Codable, Hashable, Sendable {
    public var dialog: Dialog
    /// The notice in the dialog: of the type `system`.
    public var message: Message?
  }
  public struct DialogDeleted: Codable, Hashable, Sendable {
    public var dialogId: String
    public var message: Message?
    /// `me` or `everyone`.
    public var `for`: String
  }
  public struct DialogCleared: Codable, Hashable, Sendable {
    public var dialogId: String
    public var messageId: String?
  }
  public struct DialogInvited: Codable, Hashable, Sendable {
    public var dialogId: String?
    public var jid: String
    public var name, inviterId, reason: String?
    public var elsewhere: Bool?
  }
  public struct MemberUpdated: Codable, Hashable, Sendable {
    public var dialogId: String
    public var member: Member
    public var dialog: Dialog
    public var message: Message?
  }
  public struct DraftUpdated: Codable, Hashable, Sendable {
    public var dialogId: String
    public var draft: Draft?
  }
  public struct ScheduledUpdated: Codable, Hashable, Sendable {
    public var scheduledMessageId, dialogId, sendAt: String
    public var state: ScheduledMessage.State
    public var messageId, code, detail: String?
  }
  public struct CallSignaled: Codable, Hashable, Sendable {
    public var callId, dialogId, senderId: String
    public var action: CallSignal.Action
    public var sdp: String?
    public var candidate, info: JSONObject?
  }
  public struct Custom: Codable, Hashable, Sendable {
    public var dialogId, senderId, kind: String
    public var payload: JSONObject
  }
  public struct TypingUpdated: Codable, Hashable, Sendable {
    public var dialogId: String
    public var userIds: [String]
  }
  public struct UnreadUpdated: Codable, Hashable, Sendable {
    public var dialogId: String
    public var unreadCount, mentionCount, totalUnread, totalMentions: Int
  }
  public struct SessionRevoked: Codable, Hashable, Sendable { public var reason: String }
  public struct GoAway: Codable, Hashable, Sendable {
    public var reason: String
    public var retryAfterMs: Int
  }

  private struct OfMessage: Decodable { var message: Message }
  private struct OfMarker: Decodable { var marker: Marker }
  private struct OfUser: Decodable { var user: User }
  private struct OfSettings: Decodable { var settings: DialogSettings }
  private struct OfCall: Decodable { var call: CallState }
  private struct OfPresence: Decodable { var presence: Presence }

  /// Decodes the `data` of a frame of this type.
  init(type: String, from decoder: any Decoder) throws {
    func data<T: Decodable>(_: T.Type = T.self) throws -> T { try T(from: decoder) }
    self =
      switch type {
      case "ready": .ready(try data())
      case "caught_up": .caughtUp(try data())
      case "resync": .resync(try data())
      case "message.created": .messageCreated(try data(OfMessage.self).message)
      case "message.updated": .messageUpdated(try data(OfMessage.self).message)
      case "message.deleted": .messageDeleted(try data())
      case "message.starred": .messageStarred(try data())
      case "marker.updated": .markerUpdated(try data(OfMarker.self).marker)
      case "contact.updated": .contactUpdated(try data())
      case "contacts.changed": .contactsChanged(try data())
      case "block.updated": .blockUpdated(try data())
      case "user.updated": .userUpdated(try data(OfUser.self).user)
      case "dialog.created": .dialogCreated(try data())
      case "dialog.updated": .dialogUpdated(try data())
      case "dialog.deleted": .dialogDeleted(try data())
      case "dialog.cleared": .dialogCleared(try data())
      case "dialog.invited": .dialogInvited(try data())
      case "member.updated": .memberUpdated(try data())
      case "settings.updated": .settingsUpdated(try data(OfSettings.self).settings)
      case "draft.updated": .draftUpdated(try data())
      case "scheduled.updated": .scheduledUpdated(try data())
      case "call.updated": .callUpdated(try data(OfCall.self).call)
      case "call.signal": .callSignal(try data())
      case "custom": .custom(try data())
      case "typing.updated": .typingUpdated(try data())
      case "presence.updated": .presenceUpdated(try data(OfPresence.self).presence)
      case "unread.updated": .unreadUpdated(try data())
      case "session.revoked": .sessionRevoked(try data())
      case "goaway": .goaway(try data())
      default: .unknown(type: type, data: try data())
      }
  }
}

/// A frame of the server: the answer to a command, or an event.
struct Frame: Decodable {
  enum Kind {
    case reply(to: String, error: Problem?)
    case event(ServerEvent, cursor: String?, prevCursor: String?)
  }

  var kind: Kind

  private enum Keys: String, CodingKey { case re, error, type, cursor, prevCursor, data }

  init(from decoder: any Decoder) throws {
    let frame = try decoder.container(keyedBy: Keys.self)
    if let re = try frame.decodeIfPresent(String.self, forKey: .re) {
      kind = .reply(to: re, error: try frame.decodeIfPresent(Problem.self, forKey: .error))
      return
    }
    let type = try frame.decode(String.self, forKey: .type)
    let event = try ServerEvent(type: type, from: frame.superDecoder(forKey: .data))
    kind = .event(
      event, cursor: try frame.decodeIfPresent(String.self, forKey: .cursor),
      prevCursor: try frame.decodeIfPresent(String.self, forKey: .prevCursor))
  }
}

/// The data of the answer to a command.
struct Reply<T: Decodable>: Decodable { var data: T }
