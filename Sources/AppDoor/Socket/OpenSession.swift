import Accounts
import Basics
import Dialogs
import NIOCore

/// What a session has once it stands. Loop-confined, like the session.
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
  var follower: FeedFollower
  /// The durable cursor that the client was told last.
  var cursor: String
  let attended: Position

  var awaited: [UInt64: Awaited] = [:]
  private var lastToken: UInt64 = 0
  /// A command waits for its dialog to be read; those behind it wait too.
  var isResolving = false

  var presence: Presence
  /// Shown where the client has not said another.
  var profileStatus: String?
  /// Presence was announced: with `caught_up`, or earlier by the client.
  var isAnnounced = false
  /// A user whose presence changed.
  struct Seen {
    let party: Party
    /// To this viewer they are not there, whatever the hub says.
    let isHidden: Bool
    let time: Timestamp
  }
  /// Users whose presence changed while the client did not read.
  var stalePresences: [UserID: Seen] = [:]
  /// Somebody who is typing where this user reads.
  struct Typer: Hashable {
    let dialog: DialogID
    let party: Party
  }
  /// With what the viewer knows them by, their session in a private dialog, and the end of it. At most `typingDialogsMax`.
  var typers: [Typer: (name: String, resource: String?, end: Scheduled<Void>)] = [:]
  /// The private dialogs with these users, as far as typing asked for them.
  var dialogs: [UserID: DialogID] = [:]
  /// In which dialogs this session is typing, and since when.
  var typing: [DialogID: (place: DialogPlace, since: Timestamp)] = [:]

  /// The groups that the user is in, and behind which position they follow each.
  var memberships: [DialogID: Position] = [:]
  var unreadDialogs: Set<DialogID> = []
  var unreadTimer: Scheduled<Void>?
  /// When numbers were last told, and how long they had waited.
  var unreadTold: NIODeadline?
  var unreadDelay = AppLimits.unreadDelay
  /// What the client acknowledged, and what of it is committed.
  var acknowledged = Position.zero
  var confirmed = Position.zero
  var unconfirmed = 0
  var confirmTimer: Scheduled<Void>?

  /// How the session appears to XMPP.
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

  /// 0 is the attend's own.
  func nextToken() -> UInt64 {
    lastToken &+= 1
    return lastToken
  }

  /// Stops the timers, and tells what would otherwise stay open.
  func end(_ session: AppSession) {
    unreadTimer?.cancel()
    confirmTimer?.cancel()
    for typer in typers.values { typer.end.cancel() }
    session.confirm(self)
    for (_, typing) in typing {
      let intent = SetTyping.intent(false, from: caller.user, resource: resource, in: typing.place)
      // Lost where the inbox is full: the other side's indicator ends by itself.
      _ = session.parley.submit(Post(author: caller.user, intent: intent, completion: .none))
    }
  }
}
