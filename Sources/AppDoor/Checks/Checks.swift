import Addresses
import Dialogs
import HTTPPort
import JSON

/// Checks of an input beyond its types. Each refusal names the member.
enum Checks {
  static func text(_ text: String, field: String) throws(Problem) { try PlainText.check(text, field: field) }

  /// Checks a text that is searched for; an empty one is none.
  static func query(_ query: String?) throws(Problem) -> String? {
    guard let query, !query.isEmpty else { return nil }
    guard query.utf8.count <= Limits.searchTextBytesMax else {
      throw Problem(
        .tooLarge, "query-too-long", "query has at most \(Limits.searchTextBytesMax) bytes.", field: "query")
    }
    return query
  }

  /// Checks a URL that clients fetch: http or https, with a host, in URI characters (RFC 3986 2).
  static func webURL(_ text: String, field: String) throws(Problem) {
    let lower = text.lowercased()
    let rest = lower.hasPrefix("https://") ? lower.dropFirst(8) : lower.hasPrefix("http://") ? lower.dropFirst(7) : ""
    guard let first = rest.first, first != "/", text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      !text.utf8.contains(where: { [0x22, 0x3c, 0x3e, 0x5c].contains($0) })
    else {
      throw Problem(.malformed, "url-malformed", "\(field) is no http or https URL.", field: field)
    }
  }

  /// Checks that an image is of a kind that all browsers and clients show, by its bytes.
  static func avatar(_ bytes: [UInt8]) throws -> Avatar {
    let avatar = Avatar(bytes)
    guard avatar.isKnown else {
      throw HTTPRefusal(
        status: 415, code: "avatar-type-unknown",
        detail: "A picture is a PNG, JPEG, GIF or WebP image, by its first bytes.")
    }
    return avatar
  }

  /// Checks an image that may be larger, and shrinks it if the server can; otherwise it is unchanged, and the core
  /// checks its size.
  static func avatar(shrinking bytes: [UInt8], for user: UserID, _ parley: Parley) async throws -> Avatar {
    let given = try avatar(bytes)
    let size = ImageSize(of: bytes)
    let isSmall = size.map { max($0.width, $0.height) <= Limits.avatarSide } ?? false
    if isSmall, bytes.count <= Limits.avatarBytesMax { return given }
    guard (size.map { $0.width * $0.height } ?? 0) <= Limits.picturePixelsMax,
      let small = await UserFiles(parley).avatar(of: bytes, for: user)
    else { return given }
    return try avatar(small)
  }

  static func clientID(_ id: String) throws(Problem) {
    guard (1...Limits.clientIDBytesMax).contains(id.utf8.count) else {
      throw Problem(
        .malformed, "client-id-malformed", "clientId has 1 to \(Limits.clientIDBytesMax) bytes.", field: "clientId")
    }
    try text(id, field: "clientId")
  }

  static func limit(
    _ limit: Int?, default fallback: Int = Limits.pageDefault, max: Int = Limits.pageMax
  ) throws(Problem) -> Int {
    guard let limit else { return fallback }
    guard (1...max).contains(limit) else {
      throw Problem(.malformed, "limit-out-of-range", "limit must be from 1 to \(max).", field: "limit")
    }
    return limit
  }

  /// Returns the address of a `User.id` of this domain, or of a complete JID.
  static func address(_ userID: String, domain: String, field: String = "userId") throws(Problem) -> BareJID {
    if userID.hasPrefix(ParticipantNaming.prefix) {
      throw Problem(
        .missing, "user-unknown", "\(field) is somebody's id in one dialog; it names nobody elsewhere.", field: field)
    }
    do {
      if userID.utf8.contains(UInt8(ascii: "@")) { return try BareJID(userID) }
      return try BareJID(local: userID, domain: domain)
    } catch {
      throw Problem(.malformed, "user-id-malformed", "\(field) is no user id: \(error).", field: field)
    }
  }

  /// Checks an optional line of text; an empty one is `nil`.
  static func line(_ text: String?, field: String) throws(Problem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    try self.text(text, field: field)
    return text
  }

  /// Checks emoji, and removes duplicates.
  static func emoji(_ emoji: [String]) throws(Problem) -> [String] {
    var kept: [String] = []
    for each in emoji where !kept.contains(each) {
      try text(each, field: "emoji")
      guard (1...Limits.emojiBytesMax).contains(each.utf8.count) else {
        throw Problem(
          .malformed, "emoji-malformed", "An emoji has 1 to \(Limits.emojiBytesMax) bytes.", field: "emoji")
      }
      kept.append(each)
    }
    guard kept.count <= Limits.reactionsMax else {
      throw Problem(
        .tooLarge, "too-many-emoji", "One message takes at most \(Limits.reactionsMax) emoji of each.", field: "emoji")
    }
    return kept
  }

  /// Parses the id of a message.
  static func message(_ id: String, field: String) throws(Problem) -> PublicID {
    guard let id = PublicID(id) else {
      throw Problem.messageUnknown(field: field)
    }
    return id
  }

  /// Parses mentions, as far as possible without the members of the dialog.
  static func mentions(_ mentions: [MentionBody]?, domain: String) throws(Problem) -> [MentionDraft] {
    var drafts: [MentionDraft] = []
    for (index, mention) in (mentions ?? []).enumerated() {
      // Also `room/nick`, which the core checks against the dialog.
      let named: JID
      if let occupant = JID(parsing: mention.userId), occupant.local != nil, occupant.resource != nil {
        named = occupant
      } else {
        named = JID(try address(mention.userId, domain: domain, field: "mentions[\(index)].userId"))
      }
      drafts.append(MentionDraft(address: named, begin: mention.begin, end: mention.end))
    }
    return drafts
  }

  static func role(_ text: String, field: String = "role") throws(Problem) -> Affiliation {
    guard let role = MemberBody.Role(rawValue: text) else {
      let words = MemberBody.Role.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(
        .malformed, "role-unknown", "\(field) is one of \(words); DELETE takes somebody out.", field: field)
    }
    return Affiliation(role)
  }

  static func history(_ text: String) throws(Problem) -> RoomSettings.HistoryVisibility {
    guard let visibility = DialogBody.HistoryVisibility(rawValue: text) else {
      throw Problem(
        .malformed, "history-visibility-unknown", "historyVisibility is \"all\" or \"sinceJoin\".",
        field: "historyVisibility")
    }
    return RoomSettings.HistoryVisibility(visibility)
  }

  /// Returns an app's content in the core's form.
  static func content(_ body: ContentBody, metadata: RawObject?) throws(Problem) -> Content {
    guard let type = ContentBody.Kind(rawValue: body.type) else {
      throw Problem(
        .malformed, "content-type-unknown", "\"\(body.type.prefix(64))\" is no content type of this protocol.",
        field: "content.type")
    }
    try length(body.text, field: "content.text")
    try text(body.text, field: "content.text")
    let value = body.fields.value
    if value["metadata"] != nil {
      throw Problem(
        .malformed, "metadata-misplaced", "metadata belongs beside content, not into it.", field: "content.metadata")
    }
    if let metadata, metadata.text.utf8.count > Limits.metadataBytesMax {
      throw Problem(
        .tooLarge, "metadata-too-long", "metadata has at most \(Limits.metadataBytesMax) bytes.", field: "metadata")
    }
    let kind: Content.Kind
    var shown = body.text
    switch type {
    case .text:
      kind = .text
      // Unknown members are ignored, and a text has none of its own.
      try needsText(body)
      return Content(kind: kind, text: shown, fields: StoredFields.join(.empty, metadata))
    case .location:
      kind = .location
      let latitude = try coordinate("lat", value, 90)
      let longitude = try coordinate("lng", value, 180)
      // The fallback text for XMPP clients (RFC 5870).
      try place(value)
      if shown.isEmpty { shown = "geo:\(latitude),\(longitude)" }
    case .contact:
      kind = .contact
      try needsText(body)
      try contact(value)
    case .sticker:
      kind = .sticker
      try needsText(body)
      try sticker(value)
    case .custom:
      kind = .custom
      try needsText(body)
      try custom(value)
    case .image, .video, .audio, .file:
      // Unknown members are ignored, as with a text.
      return Content(
        kind: type == .image ? .image : type == .video ? .video : type == .audio ? .audio : .file, text: shown,
        fields: StoredFields.join(type == .audio ? try waveform(value["waveform"]) : .empty, metadata),
        attachments: try attachments(value["attachments"]))
    case .encrypted, .system, .call, .deleted:
      throw Problem(
        .forbidden, "content-type-reserved", "Messages of type \(type.rawValue) cannot be sent this way.",
        field: "content.type")
    }
    return Content(kind: kind, text: shown, fields: StoredFields.join(body.fields, metadata))
  }

  static func length(_ text: String, field: String) throws(Problem) {
    // The number of characters is at most that of bytes.
    if text.utf8.count <= Limits.textCharactersMax { return }
    if text.unicodeScalars.count > Limits.textCharactersMax {
      throw Problem(
        .tooLarge, "text-too-long", "\(field) has at most \(Limits.textCharactersMax) characters.", field: field)
    }
  }

  private static func needsText(_ body: ContentBody) throws(Problem) {
    if body.text.showsNothing {
      throw Problem(.malformed, "text-missing", "content.text must have visible characters.", field: "content.text")
    }
  }

  private static func coordinate(_ name: String, _ value: JSONValue, _ bound: Double) throws(Problem) -> String {
    guard case .number(let text) = value[name], let number = Double(text), abs(number) <= bound else {
      throw Problem(
        .malformed, "coordinate-malformed", "content.\(name) must be a number from -\(Int(bound)) to \(Int(bound)).",
        field: "content.\(name)")
    }
    return text
  }
}
