import Foundation
import Testing

@testable import ParleyClient

/// The operations that no other test needs, by stories: each has its effect.
extension LiveTests {
  static let png = Data(
    base64Encoded:
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")

  /// Waits for an event of the protocol that fits.
  @discardableResult func told<T>(_ events: Events, _ test: (ServerEvent) -> T?) async throws -> T {
    try await next(events) { if case .server(let event) = $0 { test(event) } else { nil } }
  }

  func letter(_ member: String = "code") async throws -> String {
    try #require(try await Control.ask("letter")[member]?.string)
  }

  @Test("The list of dialogs: in pages, filtered; groups, their settings, pictures and members; one that is ended")
  func dialogs() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let events = await juliet.events()
    var made: [String] = []
    for name in ["Feast", "Crypt", "Street"] {
      made.append(try await romeo.createDialog(.group, name: name, memberIds: ["juliet"]).id)
    }
    let later = try Control.client()
    try await later.signIn(.password(username: "romeo", password: Control.password))
    #expect(try await later.loadDialogs(limit: 2))
    #expect(await later.dialogs.count == 2)
    while try await later.loadDialogs() {}
    #expect(await Set(later.dialogs.map(\.id)).isSuperset(of: made))
    let (feast, crypt, street) = (made[0], made[1], made[2])
    #expect(try await later.dialog(feast).name == "Feast")
    let mentions = await juliet.totalMentions + 1
    try await romeo.sendNow(
      feast, NewMessage(text: "@juliet", mentions: [Mention(userId: "juliet", begin: 0, end: 7)]))
    try await next(events) { if case .unread(_, totalMentions: mentions) = $0 { true } else { nil } }
    #expect(await juliet.totalMentions == mentions)
    #expect(try await juliet.listDialogs(limit: 100, unread: true).items.contains { $0.id == feast })

    try await romeo.updateDialog(feast, ["name": "Masque", "about": "Capulet's", "slowModeSeconds": 0])
    let renamed = try await told(events) { event -> Dialog? in
      if case .dialogUpdated(let change) = event, change.dialog.name == "Masque" { change.dialog } else { nil }
    }
    #expect(renamed.about == "Capulet's")
    #expect(try await romeo.updateDialog(feast, ["about": nil]).about == nil)
    let settings = try await juliet.updateSettings(feast, ["notify": "mentions", "pinned": true])
    #expect(settings.notify == .mentions && settings.pinned)
    #expect(await juliet.dialogs.first?.id == feast)
    try await romeo.setDialogAvatar(street, Self.png)
    #expect(try await juliet.dialogAvatar(street)?.isEmpty == false)
    try await romeo.setDialogAvatar(street, nil)
    #expect(try await juliet.dialogAvatar(street) == nil)

    #expect(try await romeo.putMember(feast, "juliet", role: .admin).role == .admin)
    #expect(try await romeo.listMembers(feast, role: .admin).items.map(\.userId) == ["juliet"])
    // One's own id of a dialog is nobody else's, and an event, which does not have it, leaves it.
    let own = JSONObject([("externalId", .string("market-\(UUID().uuidString)"))])
    let stall = try await romeo.createDialog(.group, name: "Stall", memberIds: ["juliet"], more: own)
    #expect(try await romeo.createDialog(.group, more: own).id == stall.id)
    let hers = try await juliet.createDialog(.group, more: own).id
    #expect(hers != stall.id)
    #expect(try await juliet.request("GET", "/dialogs/\(stall.id)").object?["externalId"] == nil)
    let stalls = await romeo.events()
    _ = try await romeo.request("PATCH", "/dialogs/\(stall.id)", body: ["name": "Booth"])
    let booth = try await told(stalls) { event -> Dialog? in
      if case .dialogUpdated(let change) = event, change.dialog.name == "Booth" { change.dialog } else { nil }
    }
    #expect(booth.externalId == nil && stall.externalId != nil)
    #expect(await romeo.dialogs.first { $0.id == stall.id }?.externalId == stall.externalId)
    try await juliet.deleteDialog(hers, for: .everyone)
    try await romeo.deleteDialog(stall.id, for: .everyone)
    let market = try await romeo.createDialog(.public, name: "Market of Verona").id
    #expect(try await juliet.listDialogs(scope: "public", query: "Verona").items.map(\.id).contains(market))
    #expect(try await juliet.putMember(market, "me", nick: "Rosaline").nick == "Rosaline")
    try await juliet.removeMember(market, "me")
    #expect(try await romeo.listMembers(market).items.map(\.userId) == ["romeo"])
    // An id that would make another path of it is sent to nobody.
    for who in [".", ".."] { _ = await refuses("path-malformed") { try await romeo.removeMember(market, who) } }
    #expect(try await romeo.listMembers(market).items.map(\.userId) == ["romeo"])
    try await romeo.deleteDialog(market, for: .everyone)

    try await romeo.deleteDialog(crypt, for: .everyone, reason: "morning")
    try await told(events) { if case .dialogDeleted(let gone) = $0, gone.dialogId == crypt { true } else { nil } }
    for who in [romeo, juliet] { #expect(await !who.dialogs.contains { $0.id == crypt }) }
    let plain = try await juliet.request("GET", "/dialogs", query: ["limit": "1"])
    #expect(plain.object?["items"]?.array?.count == 1)
    await romeo.close()
    await juliet.close()
  }

  @Test("Messages: who has read one, reactions, a failed one that is sent again, a cleared history, a view's ends")
  func messages() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let events = await juliet.events()
    let members: JSONObject = ["members": [["userId": "juliet", "role": "watcher"]]]
    let vault = try await romeo.createDialog(.group, name: "Vault", more: members).id
    let sending = try await juliet.send(vault, "Yea, noise?")
    let failed = try await next(events) { event -> LocalMessage? in
      if case .outbox(let message) = event, message.status == .failed { message } else { nil }
    }
    #expect(failed.key == sending.key && failed.error?.code == "no-voice")
    try await romeo.putMember(vault, "juliet", role: .member)
    try await juliet.retry(sending.key)
    try await juliet.sent()
    let said = try #require(try await romeo.listMessages(vault).items.first { $0.content.type == .text })
    #expect(said.clientId == sending.key)
    try await romeo.setReactions(vault, said.id, ["🗡️"])
    #expect(try await juliet.message(vault, said.id).reactions == ["🗡️": ["romeo"]])
    let view = try await juliet.view(vault)
    try await view.fresh()
    try await romeo.markRead(vault, said.id)
    try await sees(view) { $0.first { $0.message.id == said.id && $0.status == .read } }
    #expect(await view.readersOf(said.id) == ["romeo"])
    let receipts = try await juliet.listReceipts(vault, said.id).items
    #expect(receipts.map(\.userId) == ["romeo"] && receipts.first?.read == true)
    try await juliet.star(vault, said.id)
    try await juliet.star(vault, said.id, false)
    try await juliet.pin(vault, said.id, false)
    #expect(try await juliet.listStars().items.allSatisfy { $0.id != said.id })
    try await romeo.report(vault, said.id, reason: "abuse", text: "A test")
    try await romeo.sendCustom(vault, "wave", ["hand": "left"])
    let custom = try await told(events) { if case .custom(let custom) = $0 { custom } else { nil } }
    #expect(custom.kind == "wave" && custom.payload == ["hand": "left"])

    for line in 0..<9 { try await romeo.sendNow(vault, "line \(line)") }
    try await sees(view) { $0.first { $0.content.text == "line 8" } }
    await view.trim(3)
    #expect(await view.messages.count == 3)
    #expect(await view.hasOlder)
    try await view.jump(said.id, limit: 2)
    #expect(await view.hasNewer)
    try await view.toEnd()
    #expect(await view.messages.last?.content.text == "line 8")
    let picture = try await romeo.upload(FileInput(try #require(Self.png), mediaType: "image/png"))
    for content: NewContent in [
      .sticker(text: "🌹", pack: "roses", sticker: "red"), .custom(text: "A duel", kind: "duel", payload: ["at": 3]),
      .location(lat: 45.4386, lng: 10.9928, name: "Verona"), .attachments(.image, [picture.id ?? ""], text: "A rose"),
    ] {
      let sent = try JSONValue(try await romeo.sendNow(vault, NewMessage(content: content)).content).object
      for (name, value) in content.object where name != "attachments" { #expect(sent?[name] == value) }
      #expect(sent?["attachments"]?.array?.count == content.object["attachments"]?.array?.count)
    }

    try await juliet.clearDialog(vault)
    #expect(try await juliet.listMessages(vault).items.isEmpty)
    #expect(try await romeo.listMessages(vault).items.count > 9)
    try await juliet.deleteDialog(vault, for: .me)
    #expect(try await !juliet.listDialogs(limit: 100).items.contains { $0.id == vault })
    await romeo.close()
    await juliet.close()
  }

  @Test("Later: a message is scheduled for another time with another text; a draft is stored and taken back")
  func laterOn() async throws {
    let romeo = try await Control.person("romeo")
    let talk = try await romeo.openPrivate("juliet").id
    let events = await romeo.events()
    let picture = FileInput(try #require(Self.png), name: "a.png", mediaType: "image/png")
    let tomorrow = Date(timeIntervalSinceNow: 86_400)
    let waiting = try await romeo.schedule(talk, at: tomorrow, NewMessage(text: "Tomorrow", files: [picture]))
    #expect(waiting.content.attachments?.count == 1)
    let changed = try await romeo.updateScheduled(
      waiting.id, sendAt: tomorrow + 86_400, content: .text("And tomorrow"))
    #expect(changed.content.text == "And tomorrow" && changed.sendAt > tomorrow + 86_000)
    #expect(try await romeo.listScheduled().items.contains { $0.id == waiting.id && $0.state == .pending })
    try await romeo.cancelScheduled(waiting.id)
    #expect(try await !romeo.listScheduled().items.contains { $0.id == waiting.id && $0.state == .pending })
    for text in ["And", ""] {
      await romeo.setDraft(talk, text)
      try await told(events) { event -> Bool? in
        if case .draftUpdated(let change) = event, change.draft?.text ?? "" == text { true } else { nil }
      }
    }
    await romeo.close()
  }

  @Test("Without a connection: typing, a marker and a message are requests")
  func requests() async throws {
    let (offline, juliet) = (try Control.client(), try await Control.person("juliet"))
    try await offline.signIn(.password(username: "romeo", password: Control.password))
    let talk = try await offline.openPrivate("juliet").id
    let asked = try await juliet.sendNow(talk, "Art thou not Romeo?")
    let events = await juliet.events()
    await offline.setTyping(talk, true)
    try await next(events) { if case .typing(talk, ["romeo"]) = $0 { true } else { nil } }
    try await offline.markRead(talk, asked.id)
    try await told(events) { event -> Bool? in
      if case .markerUpdated(let marker) = event, marker.userId == "romeo", marker.read == asked.id {
        true
      } else {
        nil
      }
    }
    try await offline.sendNow(talk, "Neither, fair maid")
    #expect(try await hears(events, ["Neither, fair maid"]) == ["Neither, fair maid"])
    await offline.close()
    await juliet.close()
  }

  @Test("People: presence, a contact who is asked, accepts and is removed, a block, a search")
  func people() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let tybalt = try await Control.person("tybalt")
    let (events, theirs) = (await romeo.events(), await juliet.events())
    await romeo.setPresence(.away, status: "In Mantua")
    try await next(theirs) {
      if case .presence(let presence) = $0, presence.status == "In Mantua" { true } else { nil }
    }
    #expect(await juliet.presenceOf("romeo")?.availability == .away)
    #expect(try await juliet.fetchPresence("romeo").availability == .away)
    #expect(try await romeo.putContact("tybalt", name: "Cousin").state == .pendingOut)
    try await tybalt.putContact("romeo")
    func contact(_ test: (ServerEvent.ContactUpdated) -> Bool) async throws {
      try await told(events) { if case .contactUpdated(let change) = $0, test(change) { true } else { nil } }
    }
    try await contact { $0.contact.state == .mutual && $0.contact.name == "Cousin" }
    try await romeo.removeContact("tybalt")
    try await contact { $0.removed }
    #expect(try await !romeo.listContacts().items.contains { $0.userId == "tybalt" })

    #expect(try await romeo.block("tybalt").userId == "tybalt")
    #expect(try await romeo.listBlocks().items.map(\.userId) == ["tybalt"])
    _ = await refuses("user-unreachable") { _ = try await tybalt.openPrivate("romeo") }
    try await romeo.unblock("tybalt")
    #expect(try await romeo.listBlocks().items.isEmpty)
    #expect(try await romeo.searchUsers(ids: ["juliet", "nobody"]).items.map(\.id) == ["juliet"])
    #expect(await romeo.knownUser("juliet")?.name == "Juliet")
    for who in [romeo, juliet, tybalt] { await who.close() }
  }

  @Test("Files and calls: what is stored, the relays, a call that is refused")
  func filesAndCalls() async throws {
    let (romeo, juliet) = (try await Control.person("romeo"), try await Control.person("juliet"))
    let (mine, hers) = (await romeo.events(), await juliet.events())
    let before = try await romeo.storageUse().files
    let picture = FileInput(try #require(Self.png), name: "dagger.png", mediaType: "image/png")
    let id = try #require(try await romeo.upload(picture).id)
    #expect(try await romeo.attachment(id).name == "dagger.png")
    #expect(try await romeo.storageUse().files == before + 1)
    let relay = try #require(try await romeo.iceServers().first)
    #expect(relay.urls.first?.hasPrefix("turn:relay.example.org") == true && relay.credential != nil)
    let talk = try await romeo.openPrivate("juliet").id
    let call = try await romeo.call(dialogId: talk, .audio)
    let rings = try await next(hers) { if case .call(let call) = $0 { call } else { nil } }
    #expect(try await juliet.listCalls().map(\.id) == [call.id])
    try await rings.reject(.busy)
    let reason = try await next(mine) { event -> CallReason? in
      if case .call(let call) = event, call.state.state == .ended { call.state.reason } else { nil }
    }
    #expect(reason == .busy)
    await romeo.close()
    await juliet.close()
  }

  @Test("An account, from an invitation to its end")
  func account() async throws {
    let (romeo, rosa) = (try await Control.person("romeo"), try Control.client())
    let invitation = try await romeo.createInvitation().token
    #expect(try await rosa.invitation(invitation).inviterId == "romeo")
    try await rosa.signUp(username: "rosa", password: Control.password, invitation: invitation)
    _ = await refuses("invitation-unknown") { _ = try await rosa.invitation(invitation) }
    #expect(try await rosa.me().termsRequired == "1")
    #expect(try await rosa.acceptTerms("1").termsRequired == nil)
    try await rosa.updateMe(["name": "Rosa of Verona", "status": "in the kitchen"])
    #expect(try await romeo.searchUsers(query: "Rosa of").items.map(\.status) == ["in the kitchen"])
    try await rosa.setMyAvatar(Self.png)
    #expect(try await romeo.userAvatar("rosa")?.isEmpty == false)
    try await rosa.setMyAvatar(nil)
    #expect(try await romeo.userAvatar("rosa") == nil)

    // Addresses.
    let (phone, email) = ("+39045800000", "rosa@verona.example")
    try await rosa.sendMyCode(phone: phone)
    try await rosa.setMyPhone(phone, code: letter(), password: Control.password)
    #expect(try await rosa.me().phone == phone)
    try await rosa.removeMyPhone()
    #expect(try await rosa.me().phone == nil)
    try await rosa.sendMyCode(email: email)
    try await rosa.setMyEmail(email, code: letter(), password: Control.password)

    // Ways to sign in.
    @Sendable func vouched(_ nonce: String) async throws -> String {
      let body: JSONObject = ["nonce": .string(nonce), "prn": "rosa-of-the-app", "name": "Rosa"]
      return try #require(try await Control.ask("vouch", body)["token"]?.string)
    }
    func nonce() async throws -> String {
      try #require(try await rosa.request("POST", "/nonces").object?["nonce"]?.string)
    }
    let identity = try await rosa.addIdentity(["identityToken": .string(try await vouched(nonce()))])
    #expect(try await rosa.listIdentities().items.contains(identity))
    let other = try Control.client()
    #expect(try await other.signIn(.identityToken(try await vouched(nonce()))).id == "rosa")
    for provider: SignIn in [
      .provider("google", idToken: "a.b.c"), .provider("x", code: "a", codeVerifier: "b", redirectUri: "c://d"),
    ] {
      _ = await refuses("provider-unknown") { try await Control.client().signIn(provider) }
    }
    try await rosa.removeIdentity(identity.id)
    #expect(try await !rosa.listIdentities().items.contains(identity))
    let device = try #require(await other.deviceId)
    #expect(try await rosa.listSessions().items.contains { $0.deviceId == device && !$0.current })
    try await rosa.endSession(device)
    _ = await refuses("refresh-token-invalid") { _ = try await other.me() }
    let made = try await rosa.createAppPassword("profanity")
    #expect(made.password != nil)
    #expect(try await rosa.listAppPasswords().items.map(\.id) == [made.id])
    try await rosa.removeAppPassword(made.id)
    #expect(try await rosa.listAppPasswords().items.isEmpty)
    let secret = try #require(try await rosa.beginSecondFactor(password: Control.password).secret)
    let totp = try #require(try await Control.ask("totp", ["secret": .string(secret)])["code"]?.string)
    let recovery = try await rosa.confirmSecondFactor(totp)
    #expect(try await rosa.me().secondFactor == true)
    try await rosa.endSecondFactor(recoveryCode: recovery[0])
    #expect(try await rosa.me().secondFactor == false)

    // Another password, by a letter and by the old one.
    try await rosa.sendPasswordReset(email: email)
    try await rosa.resetPassword(letter("token"), password: "By any other name")
    _ = await refuses("refresh-token-invalid") { _ = try await rosa.me() }
    try await rosa.signIn(.password(email: email, password: "By any other name"))
    try await rosa.changePassword(Control.password, current: "By any other name")
    try await rosa.removeMyEmail()
    #expect(try await rosa.me().email == nil)

    let keys: JSONValue = [  // those of RFC 8291 5
      "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    ]
    let push: JSONValue = [
      "provider": "webpush", "subscription": ["endpoint": "https://push.example.org/a", "keys": keys],
    ]
    try await rosa.putDevice("phone", ["push": push, "platform": "ios"])
    #expect(try await rosa.listDevices().items.map(\.platform) == ["ios"])
    try await rosa.removeDevice("phone")
    #expect(try await rosa.listDevices().items.isEmpty)

    var export = try await rosa.startExport()
    while export.status == "pending" { export = try await rosa.getExport(export.id) }
    #expect(export.status == "done" && export.size ?? 0 > 0)
    #expect(try await rosa.listExports().items == [export])
    try await rosa.deleteAccount(erase: true)
    #expect(await !rosa.signedIn)
    do {
      try await rosa.signIn(.password(username: "rosa", password: Control.password))
      Issue.record("the account is still there")
    } catch let error as ParleyError { #expect(["account-disabled", "wrong-credentials"].contains(error.code)) }
    await romeo.close()
  }
}
