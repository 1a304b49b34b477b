import Accounts
import Addresses
import Basics
import Dialogs
import NIOCore

/// The state of an open session. Confined to the event loop, like the session.
final class OpenSession {
  /// A post that is not answered yet.
  struct Awaited {
    let re: String
    let place: DialogPlace
    let answer: Answer
    enum Answer { case message, marker }
  }

  let handle: AppSessionHandle
  let caller: Accounts.Caller
  let rendering: Rendering
  /// The owner of the session's reads of single rows, for live events, which others cause, and for commands. Nobody is charged.
  private(set) lazy var readOwner = rendering.parley.readOwner(caller.user, from: handle.peer, for: .followed)
  /// The owner of the reads of what the session has missed, for which the user is charged beyond an allowance.
  var catchingUp: ReadOwner { rendering.parley.readOwner(caller.user, from: handle.peer, for: .missed) }
  var follower: FeedFollower
  /// The last durable cursor sent to the client.
  var cursor: String
  let attended: Position
  /// The user's budget, which the user's other sessions share.
  private(set) lazy var sending = rendering.parley.sending.budget(
    of: caller.user, from: handle.peer, now: rendering.parley.clock.now)

  var awaited: [UInt64: Awaited] = [:]
  private var lastToken: UInt64 = 0
  /// Whether a command waits for its dialog to be read; later ones wait too.
  var isResolving = false

  var presence: Presence
  /// The profile's status, shown unless the client has set another.
  var profileStatus: String?
  /// Whether presence was announced: with `caught_up`, or earlier by the client.
  var isAnnounced = false
  /// A user whose presence changed.
  struct Seen {
    let party: Party
    /// Whether they appear offline to this viewer, independently of the hub.
    let isHidden: Bool
    let time: Timestamp
  }
  /// The users whose presence changed while the client did not read.
  var stalePresences: [UserID: Seen] = [:]
  /// A user who is typing in a dialog.
  struct TypingUser: Hashable {
    let dialog: DialogID
    let address: BareJID
  }
  /// The viewer's name of each, at most `typingDialogsMax`. The core tells when one has ended.
  var typingUsers: [TypingUser: String] = [:]
  /// The dialogs whose typing users changed while the client did not read.
  var staleTyping: Set<DialogID> = []
  /// The private dialogs with these users, as far as typing needed them.
  var dialogs: [BareJID: DialogID] = [:]
  /// A continuation for when such a dialog has been read.
  typealias DialogContinuation = (AppSession, DialogID, OpenSession) -> Void
  var waitingForDialogs: [BareJID: [DialogContinuation]] = [:]
  /// The dialogs in which this session is typing, and since when.
  var typing: [DialogID: (place: DialogPlace, since: Timestamp)] = [:]

  /// The places of missed entries, as far as the last page that was sent has found them.
  var places: FeedPlaces?
  /// The user's groups, with the position behind which they follow each. The first page reads them; after that events change them.
  var memberships: [DialogID: Position] = [:]
  var hasMemberships = false
  var unreadDialogs: Set<DialogID> = []
  var unreadTimer: Scheduled<Void>?
  /// The time when numbers were last sent, and their delay.
  var unreadTold: NIODeadline?
  var unreadDelay = AppLimits.unreadDelay
  /// The acknowledged position, and the committed one.
  var acknowledged = Position.zero
  var confirmed = Position.zero
  var unconfirmed = 0
  var confirmTimer: Scheduled<Void>?

  /// The session's resource in XMPP.
  let resource: String
  static func resource(_ caller: Accounts.Caller) -> String { "app-\(caller.device)" }
  static func device(ofResource resource: String) -> String { String(resource.dropFirst(4)) }

  init(
    handle: AppSessionHandle, caller: Accounts.Caller, rendering: Rendering, follower: FeedFollower, cursor: String,
    attended: Position, profile: Profile?, now: Timestamp
  ) {
    self.handle = handle
    self.caller = caller
    self.rendering = rendering
    self.follower = follower
    self.cursor = cursor
    self.attended = attended
    resource = Self.resource(caller)
    profileStatus = profile?.status
    presence = Presence(
      from: caller.user, resource: resource, availability: .online, status: profile?.status,
      avatarHash: profile?.avatarHash, time: now)
  }

  /// Returns a new token; 0 is that of the registration.
  func nextToken() -> UInt64 {
    lastToken &+= 1
    return lastToken
  }

  /// Stops the timers, and ends typing.
  func end(_ session: AppSession) {
    unreadTimer?.cancel()
    confirmTimer?.cancel()
    session.confirm(self)
    for (_, typing) in typing {
      let intent = SetTyping.intent(false, from: caller.user, resource: resource, in: typing.place)
      // Lost if the inbox is full: then it ends when its time is over.
      _ = session.parley.submit(Post(author: caller.user, intent: intent, completion: .none, from: handle.peer))
    }
  }
}
