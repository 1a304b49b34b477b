import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort
import JSON

/// Opens the private dialog with a user, existing or new; or creates a group or public dialog, with the caller as
/// owner. An `externalId` makes this idempotent: its creator gets the dialog again. Others have ids of their own.
enum OpenDialog: ServedOperation {
  typealias Input = OpenDialogInput
  typealias Output = DialogBody
  static let name = "dialog.open"
  static let method = Method.post
  static let path = "/v1/dialogs"
  static let successes = [200, 201]

  static func perform(_ input: OpenDialogInput, _ call: RequestContext) async throws(Problem) -> Outcome<DialogBody> {
    guard let kind = DialogBody.Kind(rawValue: input.type) else {
      throw Problem(
        .malformed, "dialog-type-unknown", "type is \"private\", \"group\" or \"public\".", field: "type")
    }
    switch kind {
    case .isPrivate: return try await open(input, call)
    case .group, .isPublic: return try await create(kind, input, call)
    }
  }

  private static func open(
    _ input: OpenDialogInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<DialogBody> {
    let caller = try call.user()
    guard let user = input.userId else {
      throw Problem(.malformed, "input-malformed", "userId is missing.", field: "userId")
    }
    let address = try Checks.address(user, domain: call.realm.domain)
    let receipt = try await call.parley.post(.openDialog(address), by: caller.user)
    guard let dialog = receipt.dialog else { throw DialogResolver.unknown }
    call.door.dialogs.remember(.privately(PrivateDialog(dialog)))
    let body = try await GetDialog.body(dialog.id, call)
    return receipt.isRepeat ? .ok(body) : .created(body)
  }

  private static func create(
    _ kind: DialogBody.Kind, _ input: OpenDialogInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<DialogBody> {
    let caller = try call.user()
    if input.userId != nil {
      throw Problem(
        .malformed, "user-id-misplaced", "userId is for private dialogs; others have memberIds.", field: "userId")
    }
    var settings = RoomSettings()
    settings.become(kind)
    settings.name = try Checks.line(input.name, field: "name")
    settings.about = try Checks.line(input.about, field: "about")
    settings.metadata = input.metadata?.text
    if let visibility = input.historyVisibility { settings.history = try Checks.history(visibility) }
    let draft = RoomDraft(
      externalID: input.externalId.map { .user(caller.user.id, $0) }, settings: settings,
      topic: try Checks.line(input.topic, field: "topic"), members: try members(input, call.realm))
    if let id = input.externalId { try Checks.text(id, field: "externalId") }
    // Each of them gets an entry and an invitation, as from a stanza of an XMPP client.
    if draft.members.count > 1 {
      let now = call.parley.clock.now
      try call.parley.sending.budget(of: caller.user, from: call.address, now: now)
        .take(messages: draft.members.count - 1, now: now, telling: RateLog.current, waitsForRooms: false)
    }
    let receipt = try await call.parley.post(.room(.create(draft)), by: caller.user)
    guard let room = receipt.room else { throw DialogResolver.unknown }
    call.door.dialogs.remember(.room(room.name))
    let body = try await GetDialog.body(room.id, call)
    return receipt.isRepeat ? .ok(body) : .created(body)
  }

  /// Returns the members without duplicates: one user cannot have two roles.
  private static func members(_ input: OpenDialogInput, _ realm: Realm) throws(Problem) -> [MemberDraft] {
    var drafts: [MemberDraft] = []
    var known: Set<BareJID> = []
    func add(_ id: String, _ affiliation: Affiliation, _ field: String) throws(Problem) {
      let address = try Checks.address(id, domain: realm.domain, field: field)
      guard known.insert(address).inserted else {
        throw Problem(.malformed, "member-twice", "\(address) is named twice.", field: field)
      }
      drafts.append(MemberDraft(address: address, affiliation: affiliation))
    }
    for id in input.memberIds ?? [] { try add(id, .member, "memberIds") }
    for (index, member) in (input.members ?? []).enumerated() {
      let affiliation = try member.role.map { (role) throws(Problem) in
        try Checks.role(role, field: "members[\(index)].role")
      }
      if affiliation == .outcast {
        throw Problem(
          .malformed, "role-unknown", "Nobody is banned from a dialog that is not there yet.",
          field: "members[\(index)].role")
      }
      try add(member.userId, affiliation ?? .member, "members[\(index)].userId")
    }
    return drafts
  }
}
