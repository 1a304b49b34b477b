public import Foundation

/// What can be sent: see "Sending" in app-protocol.md. Files are in ``NewMessage/files``, or as ids in `attachments`.
public struct NewContent: Hashable, Sendable {
  public let object: JSONObject

  /// Any content of the protocol, as an object of JSON.
  public init(_ object: JSONObject) { self.object = object }

  public static func text(_ text: String) -> Self { Self(["type": "text", "text": .string(text)]) }

  public static func location(
    lat: Double, lng: Double, text: String? = nil, name: String? = nil, accuracy: Double? = nil
  ) -> Self {
    Self(
      JSONObject([
        ("type", "location"), ("lat", .number(lat)), ("lng", .number(lng)), ("text", JSONValue(text)),
        ("name", JSONValue(name)), ("accuracy", accuracy.map(JSONValue.number)),
      ]))
  }

  public static func sticker(text: String, pack: String? = nil, sticker: String? = nil) -> Self {
    Self(
      JSONObject([
        ("type", "sticker"), ("text", .string(text)), ("pack", JSONValue(pack)), ("sticker", JSONValue(sticker)),
      ]))
  }

  /// `text` is for those who do not know the kind.
  public static func custom(text: String, kind: String, payload: JSONValue? = nil) -> Self {
    Self(JSONObject([("type", "custom"), ("text", .string(text)), ("kind", .string(kind)), ("payload", payload)]))
  }

  /// Uploaded files: `image`, `video`, `audio` or `file`.
  public static func attachments(_ type: ContentType, _ ids: [String], text: String? = nil) -> Self {
    Self(
      JSONObject([
        ("type", .string(type.rawValue)), ("text", JSONValue(text)), ("attachments", .array(ids.map(JSONValue.string))),
      ]))
  }
}

/// Bytes with a name.
public struct FileInput: Codable, Hashable, Sendable {
  public enum Source: Codable, Hashable, Sendable {
    /// Is kept in memory: a message with it does not survive the end of the process before the file is uploaded.
    case data(Data)
    /// Is read part by part. It must stay until the message is sent, also over a restart.
    case file(URL)
  }

  public var source: Source
  public var name, mediaType: String
  public var width, height, durationMs: Int?

  public init(_ data: Data, name: String = "file", mediaType: String = "application/octet-stream") {
    (source, self.name, self.mediaType) = (.data(data), name, mediaType)
  }

  public init(_ file: URL, name: String? = nil, mediaType: String = "application/octet-stream") {
    (source, self.name, self.mediaType) = (.file(file), name ?? file.lastPathComponent, mediaType)
  }

  func size() throws -> Int {
    switch source {
    case .data(let data): return data.count
    case .file(let url):
      let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
      return (attributes[.size] as? NSNumber)?.intValue ?? 0
    }
  }

  func read(_ range: Range<Int>) throws -> Data {
    switch source {
    case .data(let data): return data.dropFirst(range.lowerBound).prefix(range.count)
    case .file(let url):
      let handle = try FileHandle(forReadingFrom: url)
      defer { try? handle.close() }
      try handle.seek(toOffset: UInt64(range.lowerBound))
      return try handle.read(upToCount: range.count) ?? Data()
    }
  }

  /// The type of content for files: that of the first, if all have it.
  static func type(of files: [Self]) -> ContentType {
    let types = Set(
      files.map { file in
        ["image", "video", "audio"].first { file.mediaType.hasPrefix($0 + "/") } ?? "file"
      })
    return types.count == 1 ? ContentType(rawValue: types.first!) : .file
  }
}

/// What the SDK sends: text, or any content; or files; or the copy of another message.
public struct NewMessage: Hashable, Sendable {
  /// Short for a content of this text; beside ``files`` their caption.
  public var text: String?
  public var content: NewContent?
  /// Uploaded before the message is sent. The type of the content is that of the files unless ``content`` has another one.
  public var files: [FileInput]?
  public var replyTo: String?
  public var mentions: [Mention]?
  public var metadata: JSONObject?
  public var forwardFrom: (dialogId: String, messageId: String)? {
    get { forward.map { ($0.dialogId, $0.messageId) } }
    set { forward = newValue.map { Forward(dialogId: $0.dialogId, messageId: $0.messageId) } }
  }
  /// Generated if absent. A repeat with the same one never makes a second message.
  public var clientId: String?

  private struct Forward: Hashable { var dialogId, messageId: String }
  private var forward: Forward?

  public init(
    text: String? = nil, content: NewContent? = nil, files: [FileInput]? = nil, replyTo: String? = nil,
    mentions: [Mention]? = nil, metadata: JSONObject? = nil, forwardFrom: (dialogId: String, messageId: String)? = nil,
    clientId: String? = nil
  ) {
    (self.text, self.content, self.files, self.replyTo) = (text, content, files, replyTo)
    (self.mentions, self.metadata, self.clientId) = (mentions, metadata, clientId)
    self.forwardFrom = forwardFrom
  }

  /// The body of the request, still without the ids of files.
  func body(clientId: String) throws -> JSONObject {
    var body = JSONObject([
      ("clientId", .string(clientId)), ("replyTo", JSONValue(replyTo)), ("mentions", try mentions.map(JSONValue.init)),
      ("metadata", metadata.map(JSONValue.object)),
    ])
    if let forwardFrom {
      body["forwardFrom"] = ["dialogId": .string(forwardFrom.dialogId), "messageId": .string(forwardFrom.messageId)]
      return body
    }
    let type = files.map(FileInput.type) ?? .text
    var object: JSONObject = ["type": .string(type.rawValue)]
    if let text { object["text"] = .string(text) }
    object.merge(content?.object ?? [:]) { $1 }
    body["content"] = .object(object)
    return body
  }
}

/// The ladder of one's own messages. `storing`: not stored here yet, the end of the process would lose it. `failed`: refused;
/// ``Parley/retry(_:)`` or ``Parley/discard(_:)`` it. In groups one other member suffices for the next step.
public enum MessageStatus: String, Codable, Sendable { case storing, sending, sent, delivered, read, failed }

/// A message as it is shown: one of the server, or one of the outbox that has no id yet. The members of ``Message`` are its own.
@dynamicMemberLookup
public struct LocalMessage: Hashable, Sendable, Identifiable {
  /// Why a message was refused.
  public struct Failure: Codable, Hashable, Sendable {
    public var code, detail: String
    public var field: String?
  }

  /// Stable from the first moment on, also when the server's answer arrives: the identity in a list.
  public var key: String
  /// While it is in the outbox, its id is empty.
  public var message: Message
  /// Of the caller's own messages only.
  public var status: MessageStatus?
  public var error: Failure?
  /// Of the upload of its files: 0 to 1.
  public var progress: Double?

  public var id: String { key }
  public subscript<T>(dynamicMember member: KeyPath<Message, T>) -> T { message[keyPath: member] }
}

/// Messages that are to be sent, in order within each dialog. A value without IO: its owner stores an entry before it sends it, and sends
/// the ``next(in:)`` of each dialog until it is settled or failed. A repeat has the same `clientId` and makes no second message.
struct Outbox: Equatable, Sendable {
  struct Upload: Codable, Equatable, Sendable {
    var input: FileInput
    /// The slot, so that an upload continues after a restart.
    var slot: Attachment?
    /// The attachment, once all of it is uploaded.
    var id: String?
  }

  struct Entry: Codable, Equatable, Sendable {
    /// Sorts entries by their age, also those of earlier processes.
    var key: String
    var clientId, dialogId: String
    var body: JSONObject
    var files: [Upload]?
    var createdAt: Date
    var failure: LocalMessage.Failure?

    /// Bytes in memory are not stored, nor is the message before they are uploaded.
    var isStorable: Bool {
      files?.allSatisfy { if $0.id == nil, case .data = $0.input.source { false } else { true } } ?? true
    }
  }

  private(set) var entries: [Entry] = []
  /// The `clientId`s of entries that are not stored yet.
  private var storing: Set<String> = []
  private var last = 0

  init() {}

  /// Takes what an earlier process has left.
  init(_ entries: [Entry]) { self.entries = entries.sorted { $0.key < $1.key } }

  subscript(clientId: String) -> Entry? { entries.first { $0.clientId == clientId } }

  /// Whether nothing waits; what has failed does not wait.
  var isEmpty: Bool { entries.allSatisfy { $0.failure != nil } }

  /// Returns the entry that is to be sent next, unless it is not stored yet: those behind it wait, too.
  func next(in dialogId: String) -> Entry? {
    let entry = entries.first { $0.dialogId == dialogId && $0.failure == nil }
    return entry.flatMap { isStoring($0.clientId) ? nil : $0 }
  }

  func isStoring(_ clientId: String) -> Bool { storing.contains(clientId) }

  /// Adds an entry, which is sent after ``stored(_:)``.

  mutating func add(
    _ body: JSONObject, clientId: String, to dialogId: String, files: [FileInput]?, at now: Date
  ) throws -> Entry {
    guard self[clientId] == nil else {
      throw ParleyError("client-id-reused", "A message with this clientId waits already.")
    }
    guard entries.count < Limits.outbox else {
      throw ParleyError("outbox-full", "\(Limits.outbox) messages wait already.")
    }
    last = max(last + 1, Int(now.timeIntervalSince1970 * 1000))
    let time = String(last)
    let entry = Entry(
      key: String(repeating: "0", count: max(0, 16 - time.count)) + time + clientId, clientId: clientId,
      dialogId: dialogId,
      body: body, files: files?.map { Upload(input: $0) }, createdAt: now)
    entries.append(entry)
    storing.insert(clientId)
    return entry
  }

  /// Takes note that an entry is stored, and returns the entry, unless it is gone.
  mutating func stored(_ clientId: String) -> Entry? {
    storing.remove(clientId)
    return self[clientId]
  }

  /// Replaces an entry whose state changed, unless it is gone.
  mutating func change(_ entry: Entry) -> Bool {
    guard let index = entries.firstIndex(where: { $0.clientId == entry.clientId }) else { return false }
    entries[index] = entry
    return true
  }

  mutating func fail(_ clientId: String, _ error: ParleyError) -> Entry? {
    guard var entry = self[clientId] else { return nil }
    entry.failure = .init(code: error.code, detail: error.detail, field: error.field)
    return change(entry) ? entry : nil
  }

  /// What was uploaded may have been the reason of the failure: it is uploaded again.
  mutating func retry(_ clientId: String) -> Entry? {
    guard var entry = self[clientId], entry.failure != nil else { return nil }
    entry.failure = nil
    entry.files = entry.files?.map { Upload(input: $0.input) }
    return change(entry) ? entry : nil
  }

  /// Removes an entry: the server has it, or nobody wants it. Only the first of several causes finds it.
  mutating func remove(_ clientId: String) -> Entry? {
    guard let index = entries.firstIndex(where: { $0.clientId == clientId }) else { return nil }
    storing.remove(clientId)
    return entries.remove(at: index)
  }
}

extension LocalMessage {
  /// An entry of the outbox as a message of its dialog.
  init(_ entry: Outbox.Entry, isStoring: Bool, senderId: String, progress: Double?) {
    let content = entry.body["content"]?.object ?? [:]
    var members = content
    for name in ["type", "text", "attachments"] { members[name] = nil }
    let files = entry.files?.map {
      Attachment(id: $0.id, name: $0.input.name, mediaType: $0.input.mediaType, size: try? $0.input.size())
    }
    let ids = content["attachments"]?.array?.map { Attachment(id: $0.string) }
    key = entry.clientId
    message = Message(
      id: "", seq: .max, dialogId: entry.dialogId, senderId: senderId, clientId: entry.clientId,
      sentAt: entry.createdAt,
      content: Content(
        type: ContentType(rawValue: content["type"]?.string ?? "text"), text: content["text"]?.string ?? "",
        attachments: files ?? ids, members: members),
      metadata: entry.body["metadata"]?.object, replyTo: entry.body["replyTo"]?.string)
    status = entry.failure != nil ? .failed : isStoring ? .storing : .sending
    error = entry.failure
    self.progress = progress
  }
}
