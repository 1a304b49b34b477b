public import Foundation

extension Parley {
  // MARK: Markers, typing, presence, drafts

  /// Marks everything up to a message as read; `private`: without telling others. Repeats are not sent.
  public func markRead(_ dialogId: String, _ messageId: String, private isPrivate: Bool = false) async throws {
    if let me = store.dialogs[dialogId]?.me, me.readMessageId == messageId, !me.markedUnread { return }
    try await persist {
      try await setMarker(dialogId, JSONObject([("read", .string(messageId)), ("private", isPrivate ? true : nil)]))
    }
  }

  private func setMarker(_ dialogId: String, _ marker: JSONObject) async throws {
    var answer: Marker
    if state == .online {
      let data = try await command("marker.set", marker.merging(["dialogId": .string(dialogId)]) { $1 })
      answer = try JSON.decode(Reply<Marker>.self, from: data).data
    } else {
      answer = try await ask("PUT", path("dialogs", dialogId, "marker"), body: .object(marker))
    }
    guard let userId else { return }
    answer.userId = userId
    store.apply(answer, me: userId)
    storeChanged()
  }

  /// Others see that a message has arrived; one marker for all of the same second.
  func arrived(_ message: Message) {
    guard sendDelivered, !isClosed else { return }
    let isFirst = delivered.isEmpty
    delivered[message.dialogId] = message.id
    guard isFirst else { return }
    Task {
      try? await Task.sleep(for: Limits.deliveredAfter)
      let last = delivered
      delivered = [:]
      for (dialogId, messageId) in last where session != nil && !isClosed {
        let dialog = store.dialogs[dialogId]
        if dialog?.memberCount ?? 2 > 20 || dialog?.me?.readMessageId == messageId { continue }
        // The next message's marker covers this one.
        try? await setMarker(dialogId, ["delivered": .string(messageId)])
      }
    }
  }

  /// Call it at every key press: renewals are limited to one in four seconds.
  public func setTyping(_ dialogId: String, _ on: Bool) {
    if on, let last = typed[dialogId], last.duration(to: .now) < Limits.typingEvery { return }
    if !on, typed[dialogId] == nil { return }
    typed[dialogId] = on ? .now : nil
    let isOnline = state == .online
    Task {
      if isOnline {
        _ = try? await command("typing", ["dialogId": .string(dialogId), "on": .bool(on)])
      } else {
        try? await tell("POST", path("dialogs", dialogId, "typing"), body: ["on": .bool(on)])
      }
    }
  }

  /// Who types there at present.
  public func typingIn(_ dialogId: String) -> [String] { (store.typing[dialogId] ?? []).filter { $0 != userId } }

  /// The last known presence of a contact.
  public func presenceOf(_ userId: String) -> Presence? { store.presences[userId] }
  public func fetchPresence(_ userId: String) async throws -> Presence {
    try await ask("GET", path("users", userId, "presence"))
  }

  /// One's own presence; set again after each reconnect. `activeDialogId`: the dialog on the screen, which causes no alerts meanwhile.
  public func setPresence(_ availability: Availability, status: String? = nil, activeDialogId: String? = nil) {
    let presence = JSONObject([
      ("availability", .string(availability.rawValue)), ("status", JSONValue(status)),
      ("activeDialogId", JSONValue(activeDialogId)),
    ])
    wish = presence
    if state == .online { Task { _ = try? await command("presence", presence) } }
  }

  /// Stores the draft, a second after the last call; an empty text removes it.
  public func setDraft(_ dialogId: String, _ text: String, replyTo: String? = nil) {
    let had = store.dialogs[dialogId]?.me?.draft
    if text.isEmpty, had == nil { return }
    let draft = text.isEmpty ? nil : Draft(dialogId: dialogId, text: text, replyTo: replyTo, updatedAt: Date())
    store.setDraft(draft, in: dialogId)
    storeChanged()
    drafts[dialogId]?.cancel()
    drafts[dialogId] = Task {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      drafts[dialogId] = nil
      do {
        if draft == nil {
          try await tell("DELETE", path("dialogs", dialogId, "draft"))
        } else {
          let body = JSONObject([("text", .string(text)), ("replyTo", JSONValue(replyTo))])
          try await tell("PUT", path("dialogs", dialogId, "draft"), body: .object(body))
        }
      } catch {
        if (error as? ParleyError)?.status != 404 { failed(error) }
      }
    }
  }

  // MARK: Users and contacts

  /// A user's profile, from a cache of 500 that events keep current. Nil: unknown.
  public func getUser(_ userId: String) async throws -> User? {
    if let known = knownUser(userId) { return known }
    do {
      let user: User = try await ask("GET", path("users", userId))
      store.put(user)
      return user
    } catch let error as ParleyError where error.status == 404 { return nil }
  }

  /// What the cache has, at once.
  public func knownUser(_ userId: String) -> User? { userId == self.userId ? user : store.users[userId] }

  public func searchUsers(
    query: String? = nil, field: String? = nil, ids: [String]? = nil, externalId: String? = nil, near: String? = nil,
    radius: Int? = nil, cursor: String? = nil, limit: Int? = nil
  ) async throws -> Page<User> {
    let page: Page<User> = try await ask(
      "GET", "/users",
      query: [
        ("query", query), ("field", field), ("ids", ids?.joined(separator: ",")), ("externalId", externalId),
        ("near", near),
        ("radius", radius.map(String.init)), ("cursor", cursor), ("limit", limit.map(String.init)),
      ])
    for user in page.items { store.put(user) }
    return page
  }

  public func userAvatar(_ userId: String) async throws -> Data? { try await picture(path("users", userId, "avatar")) }

  public func listContacts() async throws -> Page<Contact> { try await ask("GET", "/contacts") }
  /// Asks, accepts or renames.
  @discardableResult public func putContact(_ userId: String, name: String? = nil) async throws -> Contact {
    try await ask("PUT", path("contacts", userId), body: .object(JSONObject([("name", JSONValue(name))])))
  }
  /// Removes, declines or withdraws.
  public func removeContact(_ userId: String) async throws { try await tell("DELETE", path("contacts", userId)) }
  public func listBlocks() async throws -> Page<Block> { try await ask("GET", "/blocks") }
  @discardableResult public func block(_ userId: String) async throws -> Block {
    try await ask("PUT", path("blocks", userId))
  }
  public func unblock(_ userId: String) async throws { try await tell("DELETE", path("blocks", userId)) }

  // MARK: One's own account

  public func me() async throws -> Me { try await ask("GET", "/users/me") }
  /// Changes members of ``Me``; `nil` removes.
  @discardableResult public func updateMe(_ changes: JSONObject) async throws -> Me {
    try await ask("PATCH", "/users/me", body: .object(changes))
  }
  @discardableResult public func acceptTerms(_ version: String) async throws -> Me {
    try await ask("PUT", "/users/me/terms", body: ["version": .string(version)])
  }
  public func setMyAvatar(_ picture: Data?) async throws { try await put(picture, "/users/me/avatar") }
  /// Shares where the user is, to about a kilometre, for ``searchUsers(query:field:ids:externalId:near:radius:cursor:limit:)``, and returns until
  /// when: `ttl` seconds from now.
  @discardableResult public func shareLocation(
    latitude: Double, longitude: Double, ttl: Int? = nil
  ) async throws -> Date {
    let body = JSONObject([("latitude", .number(latitude)), ("longitude", .number(longitude)), ("ttl", JSONValue(ttl))])
    return try await (ask("PUT", "/users/me/location", body: .object(body)) as Expiry).expiresAt
  }
  public func endSharingLocation() async throws { try await tell("DELETE", "/users/me/location") }
  public func changePassword(_ password: String, current: String? = nil) async throws {
    try await tell(
      "PUT", "/users/me/password",
      body: .object(JSONObject([("password", .string(password)), ("current", JSONValue(current))])))
  }
  @discardableResult public func sendMyCode(
    email: String? = nil, phone: String? = nil, secondFactor: Bool? = nil
  ) async throws -> Date {
    let body = JSONObject([
      ("email", JSONValue(email)), ("phone", JSONValue(phone)), ("secondFactor", secondFactor.map(JSONValue.bool)),
    ])
    return try await (ask("POST", "/users/me/codes", body: .object(body)) as Expiry).expiresAt
  }
  public func setMyEmail(_ email: String, code: String, password: String? = nil) async throws {
    try await tell(
      "PUT", "/users/me/email",
      body: .object(
        JSONObject([("email", .string(email)), ("code", .string(code)), ("password", JSONValue(password))])))
  }
  public func removeMyEmail() async throws { try await tell("DELETE", "/users/me/email") }
  public func removeMyPhone() async throws { try await tell("DELETE", "/users/me/phone") }
  public func setMyPhone(_ phone: String, code: String, password: String? = nil) async throws {
    try await tell(
      "PUT", "/users/me/phone",
      body: .object(
        JSONObject([("phone", .string(phone)), ("code", .string(code)), ("password", JSONValue(password))])))
  }

  /// What an authenticator needs: see ``Parley/beginSecondFactor(password:method:)``.
  public struct SecondFactor: Codable, Hashable, Sendable {
    public var method: String
    public var secret, uri: String?
    public var expiresAt: Date?
  }
  /// Begins to set a second factor up: `totp` or `sms`.
  public func beginSecondFactor(password: String? = nil, method: String? = nil) async throws -> SecondFactor {
    try await ask(
      "POST", "/users/me/second-factor",
      body: .object(JSONObject([("password", JSONValue(password)), ("method", JSONValue(method))])))
  }
  /// Returns the recovery codes.
  public func confirmSecondFactor(_ code: String) async throws -> [String] {
    struct Answer: Decodable { var recoveryCodes: [String] }
    return try await (ask("PUT", "/users/me/second-factor", body: ["code": .string(code)]) as Answer).recoveryCodes
  }
  public func endSecondFactor(code: String? = nil, recoveryCode: String? = nil) async throws {
    try await tell("DELETE", "/users/me/second-factor", query: [("code", code), ("recoveryCode", recoveryCode)])
  }

  public func listSessions() async throws -> Page<SessionSummary> { try await ask("GET", "/sessions") }
  public func endSession(_ id: String) async throws { try await tell("DELETE", path("sessions", id)) }
  /// Ends all other logins.
  public func endOtherSessions() async throws { try await tell("DELETE", "/sessions") }
  public func listIdentities() async throws -> Page<Identity> { try await ask("GET", "/users/me/identities") }
  @discardableResult public func addIdentity(_ input: JSONObject) async throws -> Identity {
    try await ask("POST", "/users/me/identities", body: .object(input))
  }
  public func removeIdentity(_ id: String) async throws {
    try await tell("DELETE", path("users", "me", "identities", id))
  }
  public func listAppPasswords() async throws -> Page<AppPassword> { try await ask("GET", "/app-passwords") }
  public func createAppPassword(_ name: String) async throws -> AppPassword {
    try await ask("POST", "/app-passwords", body: ["name": .string(name)])
  }
  public func removeAppPassword(_ id: String) async throws { try await tell("DELETE", path("app-passwords", id)) }
  public func listDevices() async throws -> Page<Device> { try await ask("GET", "/devices") }
  /// Registers for pushes.
  @discardableResult public func putDevice(_ id: String, _ input: JSONObject) async throws -> Device {
    try await ask("PUT", path("devices", id), body: .object(input))
  }
  public func removeDevice(_ id: String) async throws { try await tell("DELETE", path("devices", id)) }
  public func startExport() async throws -> Export { try await ask("POST", "/users/me/exports") }
  public func listExports() async throws -> Page<Export> { try await ask("GET", "/users/me/exports") }
  public func getExport(_ id: String) async throws -> Export {
    try await ask("GET", path("users", "me", "exports", id))
  }

  /// Deletes the account; `erase`: its messages too, for everyone.
  public func deleteAccount(erase: Bool = false) async throws {
    try await tell("DELETE", "/users/me", query: [("erase", erase ? "true" : nil)])
    await disconnect()
    session = nil
    try await forget()
    emit(.session(signedIn: false, error: nil))
  }

  // MARK: Pictures

  func put(_ picture: Data?, _ path: String) async throws {
    _ = try await send(picture == nil ? "DELETE" : "PUT", path, headers: [], body: picture)
  }

  func picture(_ path: String) async throws -> Data? {
    do { return try await send("GET", path, headers: [], body: nil).body } catch let error as ParleyError
      where error.status == 404
    {
      return nil
    }
  }
}
