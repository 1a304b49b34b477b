public import Foundation

func randomId() -> String { UUID().uuidString.lowercased() }

extension Parley {
  // MARK: Dialogs

  /// Loads the next page of the user's dialogs into ``dialogs``. Returns whether there are more.
  @discardableResult public func loadDialogs(limit: Int = 50) async throws -> Bool {
    try await opened()
    var next: String?
    switch store.listPosition {
    case .complete: return false
    case .start: break
    case .at(let cursor): next = cursor
    }
    let asked = store.clock
    let page = try await listDialogs(cursor: next, limit: limit)
    let isFirst = store.cursor == nil
    store.put(page, asked: asked)
    if isFirst { trail.reset(to: store.cursor) }
    if sendDelivered {
      for dialog in page.items {
        guard let last = dialog.lastMessage, let me = dialog.me, me.unreadCount > 0, me.deliveredMessageId != last.id
        else { continue }
        arrived(last)
      }
    }
    storeChanged()
    return hasMoreDialogs
  }

  /// Returns the dialog of the local list, or asks the server.
  public func dialog(_ id: String) async throws -> Dialog {
    if let known = store.dialogs[id] { return known }
    return took(try await ask("GET", path("dialogs", id)))
  }

  /// The private dialog with a user: of those that are loaded, or the server's, which creates it if there is none.
  public func openPrivate(_ userId: String) async throws -> Dialog {
    if let known = store.dialogs.values.first(where: { $0.type == .private && $0.user?.id == userId }) { return known }
    return took(try await persist { try await ask("POST", "/dialogs", body: ["type": "private", "userId": .string(userId)]) })
  }

  /// Creates a group or a public dialog. `more` has further members of the request: `about`, `topic`, `members`, `historyVisibility`, …
  public func createDialog(
    _ type: DialogType, name: String? = nil, memberIds: [String] = [], more: JSONObject = [:]
  ) async throws -> Dialog {
    let body = JSONObject([
      ("type", .string(type.rawValue)), ("name", JSONValue(name)),
      ("memberIds", .array(memberIds.map(JSONValue.string))),
    ]).merging(more) { $1 }
    return took(try await ask("POST", "/dialogs", body: .object(body)))
  }

  /// Changes members of a dialog: `type`, `name`, `about`, `topic`, `metadata`, or a setting such as `slowModeSeconds`; `nil` removes.
  @discardableResult public func updateDialog(_ id: String, _ changes: JSONObject) async throws -> Dialog {
    took(try await ask("PATCH", path("dialogs", id), body: .object(changes)))
  }

  /// Deletes a dialog. `everyone`: ends it (owners). `me`: removes it from one's list until a new message arrives.
  public func deleteDialog(_ id: String, for whom: Whom, reason: String? = nil) async throws {
    try await tell("DELETE", path("dialogs", id), query: [("for", whom.rawValue), ("reason", reason)])
    store.remove(id)
    storeChanged()
  }

  /// Deletes all messages so far for oneself.
  public func clearDialog(_ id: String) async throws {
    try await tell("DELETE", path("dialogs", id, "messages"), query: [("for", "me")])
  }

  /// Sets one's own settings: `notify`, `mutedUntil`, `pinned`, `archived`, `markedUnread`, `retentionDays`.
  @discardableResult public func updateSettings(_ id: String, _ changes: JSONObject) async throws -> DialogSettings {
    let settings: DialogSettings = try await ask("PATCH", path("dialogs", id, "me"), body: .object(changes))
    store.apply(settings)
    storeChanged()
    return settings
  }

  public func listDialogs(
    cursor: String? = nil, limit: Int? = nil, scope: String? = nil, type: DialogType? = nil, archived: Bool? = nil,
    pinned: Bool? = nil, unread: Bool? = nil, query: String? = nil
  ) async throws -> DialogPage {
    try await ask(
      "GET", "/dialogs",
      query: [
        ("cursor", cursor), ("limit", limit.map(String.init)), ("scope", scope), ("type", type?.rawValue),
        ("archived", archived.map(String.init)), ("pinned", pinned.map(String.init)),
        ("unread", unread.map(String.init)), ("query", query),
      ])
  }

  public func listMembers(
    _ id: String, cursor: String? = nil, limit: Int? = nil, role: Role? = nil
  ) async throws -> Page<Member> {
    try await ask(
      "GET", path("dialogs", id, "members"),
      query: [("cursor", cursor), ("limit", limit.map(String.init)), ("role", role?.rawValue)])
  }

  /// Adds or changes a member. `me` joins a public dialog, or changes one's nick.
  @discardableResult public func putMember(
    _ id: String, _ userId: String, role: Role? = nil, nick: String? = nil, reason: String? = nil
  ) async throws -> Member {
    try await ask(
      "PUT", path("dialogs", id, "members", userId),
      body: .object(
        JSONObject([("role", JSONValue(role?.rawValue)), ("nick", JSONValue(nick)), ("reason", JSONValue(reason))])))
  }

  /// Removes a member. `me` leaves.
  public func removeMember(_ id: String, _ userId: String, reason: String? = nil) async throws {
    try await tell("DELETE", path("dialogs", id, "members", userId), query: [("reason", reason)])
  }

  /// Sets a picture of PNG, JPEG, GIF or WebP; nil removes it.
  public func setDialogAvatar(_ id: String, _ picture: Data?) async throws {
    try await put(picture, path("dialogs", id, "avatar"))
  }
  public func dialogAvatar(_ id: String) async throws -> Data? { try await picture(path("dialogs", id, "avatar")) }

  @discardableResult func took(_ dialog: Dialog, asked: Int? = nil) -> Dialog {
    if dialog.me != nil { store.put([dialog], asked: asked ?? store.clock) }
    storeChanged()
    return dialog
  }

  // MARK: Messages

  public func listMessages(
    _ id: String, before: String? = nil, after: String? = nil, limit: Int? = nil
  ) async throws -> Page<Message> {
    try await ask(
      "GET", path("dialogs", id, "messages"),
      query: [("before", before), ("after", after), ("limit", limit.map(String.init))])
  }

  func openDialog(_ id: String, limit: Int) async throws -> OpenedDialog {
    try await ask(
      "GET", path("dialogs", id, "messages"), query: [("limit", String(limit)), ("include", "dialog,markers,users")])
  }

  public func message(_ dialogId: String, _ id: String) async throws -> Message {
    try await ask("GET", path("dialogs", dialogId, "messages", id))
  }

  public func searchMessages(
    query: String? = nil, type: ContentType? = nil, dialogId: String? = nil, from: String? = nil, cursor: String? = nil,
    limit: Int? = nil
  ) async throws -> Page<Message> {
    try await ask(
      "GET", "/messages",
      query: [
        ("query", query), ("type", type?.rawValue), ("dialogId", dialogId), ("from", from), ("cursor", cursor),
        ("limit", limit.map(String.init)),
      ])
  }

  @discardableResult public func edit(
    _ dialogId: String, _ messageId: String, _ text: String, mentions: [Mention]? = nil
  ) async throws -> Message {
    let body = JSONObject([
      ("text", .string(text)), ("mentions", try mentions.map(JSONValue.init)), ("clientId", .string(randomId())),
    ])
    return changed(
      try await persist {
        try await ask("PATCH", path("dialogs", dialogId, "messages", messageId), body: .object(body))
      })
  }

  public func deleteMessage(_ dialogId: String, _ messageId: String, for whom: Whom, reason: String? = nil) async throws
  {
    try await persist {
      try await tell(
        "DELETE", path("dialogs", dialogId, "messages", messageId), query: [("for", whom.rawValue), ("reason", reason)])
    }
  }

  /// Sets all of one's reactions to a message.
  @discardableResult public func setReactions(
    _ dialogId: String, _ messageId: String, _ emoji: [String]
  ) async throws -> Message {
    let body: JSONValue = ["emoji": .array(emoji.map(JSONValue.string))]
    return changed(
      try await persist {
        try await ask("PUT", path("dialogs", dialogId, "messages", messageId, "reactions"), body: body)
      })
  }

  /// Adds the reaction, or takes it back.
  @discardableResult public func toggleReaction(_ message: Message, _ emoji: String) async throws -> Message {
    let mine = (message.reactions ?? [:]).filter { $0.value.contains(userId ?? "") }.map(\.key).sorted()
    let next = mine.contains(emoji) ? mine.filter { $0 != emoji } : mine + [emoji]
    return try await setReactions(message.dialogId, message.id, next)
  }

  @discardableResult public func pin(_ dialogId: String, _ messageId: String, _ on: Bool = true) async throws -> Message
  {
    changed(try await ask(on ? "PUT" : "DELETE", path("dialogs", dialogId, "messages", messageId, "pin")))
  }
  public func listPins(_ dialogId: String) async throws -> Page<Message> {
    try await ask("GET", path("dialogs", dialogId, "pins"))
  }

  public func star(_ dialogId: String, _ messageId: String, _ on: Bool = true) async throws {
    try await tell(on ? "PUT" : "DELETE", path("dialogs", dialogId, "messages", messageId, "star"))
  }
  public func listStars(cursor: String? = nil, limit: Int? = nil) async throws -> Page<Message> {
    try await ask("GET", "/stars", query: [("cursor", cursor), ("limit", limit.map(String.init))])
  }

  public func listEdits(_ dialogId: String, _ messageId: String, cursor: String? = nil) async throws -> Page<Edit> {
    try await ask("GET", path("dialogs", dialogId, "messages", messageId, "edits"), query: [("cursor", cursor)])
  }

  /// Who received and read it.
  public func listReceipts(_ dialogId: String, _ messageId: String, cursor: String? = nil) async throws -> Page<Receipt>
  {
    try await ask("GET", path("dialogs", dialogId, "messages", messageId, "receipts"), query: [("cursor", cursor)])
  }

  /// Reports a message: `spam` or `abuse`.
  public func report(
    _ dialogId: String, _ messageId: String, reason: String, text: String? = nil, mayTellOrigin: Bool? = nil
  ) async throws {
    let body = JSONObject([
      ("reason", .string(reason)), ("text", JSONValue(text)), ("mayTellOrigin", mayTellOrigin.map(JSONValue.bool)),
    ])
    try await tell("POST", path("dialogs", dialogId, "messages", messageId, "flags"), body: .object(body))
  }

  /// An event that only your app understands, to those who are connected.
  public func sendCustom(_ dialogId: String, _ kind: String, _ payload: JSONObject = [:]) async throws {
    try await tell(
      "POST", path("dialogs", dialogId, "events"), body: ["kind": .string(kind), "payload": .object(payload)])
  }

  public func schedule(_ dialogId: String, at time: Date, _ message: NewMessage) async throws -> ScheduledMessage {
    var body = try message.body(clientId: message.clientId ?? randomId())
    body["sendAt"] = .string(JSON.text(time))
    if let files = message.files {
      var content = body["content"]?.object ?? [:]
      var ids: [JSONValue] = []
      for file in files { if let id = try await upload(file).id { ids.append(.string(id)) } }
      content["attachments"] = .array(ids)
      body["content"] = .object(content)
    }
    let given = body
    return try await persist {
      try await ask("POST", path("dialogs", dialogId, "scheduled-messages"), body: .object(given))
    }
  }
  public func listScheduled() async throws -> Page<ScheduledMessage> { try await ask("GET", "/scheduled-messages") }
  public func updateScheduled(
    _ id: String, sendAt: Date? = nil, content: NewContent? = nil
  ) async throws -> ScheduledMessage {
    let body = JSONObject([
      ("sendAt", sendAt.map { .string(JSON.text($0)) }), ("content", content.map { .object($0.object) }),
    ])
    return try await ask("PATCH", path("scheduled-messages", id), body: .object(body))
  }
  public func cancelScheduled(_ id: String) async throws { try await tell("DELETE", path("scheduled-messages", id)) }

  private func changed(_ message: Message) -> Message {
    store.update(message.id, in: message.dialogId) { newer($0, message) }
    updateInViews(message)
    storeChanged()
    return message
  }
}

/// For whom something is deleted.
public enum Whom: String, Sendable { case everyone, me }
