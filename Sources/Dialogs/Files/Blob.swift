/// Names a blob, and is all that its readers need: 128 random bits that nobody can guess. Whoever knows it may
/// read (XEP-0363 3).
public struct BlobID: Hashable, Sendable, CustomStringConvertible {
  public let value: PublicID

  public init(_ value: PublicID) { self.value = value }

  public init?(_ text: some StringProtocol) {
    guard let value = PublicID(String(text)) else { return nil }
    self.init(value)
  }

  public static func random() -> BlobID {
    var generator = SystemRandomNumberGenerator()
    return BlobID(
      PublicID(
        high: .random(in: .min ... .max, using: &generator), low: .random(in: .min ... .max, using: &generator)))
  }

  public var description: String { value.description }
}

/// A file that a user keeps here: what is known of it. Its bytes are in a `BlobStore`.
///
/// States: awaited (a slot) -upload-> stored -its end, or that of its messages-> gone, which only still counts for its
/// owner's day; or awaited -a scanner's no-> refused, which counts the same; an awaited one whose time is over is forgotten.
public struct Blob: Hashable, Sendable {
  /// Stored: never renumber.
  public enum State: UInt8, Sendable { case awaited = 0, stored = 1, gone = 2, refused = 3 }

  /// What it is for, which decides how long it is kept (XEP-0363 6). Stored: never renumber.
  public enum Purpose: UInt8, Sendable, CaseIterable {
    case message = 0
    /// Kept until its owner is deleted, and small.
    case profile = 1
    /// Not after a time that its owner names.
    case ephemeral = 2
  }

  public let id: BlobID
  public let realm: RealmID
  public let owner: UserID
  /// One part of a path, without controls.
  public let name: String
  /// Type and subtype in lower case; nil: not known before it has come.
  public var mediaType: String?
  /// Bytes.
  public let size: Int64
  public let purpose: Purpose
  public var state: State
  public let createdAt: Timestamp
  /// From then on it is not given out; nil: as long as its owner is there.
  public var expiresAt: Timestamp?
  /// Of a stored one; of an awaited one what whoever asked for the slot says it must be, nil: they do not.
  public var sha256: [UInt8]?
  /// Pixels, of a stored picture of a known kind as they are, else as whoever asked for the slot says; and milliseconds as
  /// they say.
  public var shape: Shape
  /// Its bytes may come in parts, over a longer time.
  public let isResumable: Bool
  /// How large the small picture is that is kept beside it (`BlobName.Part.thumbnail`); nil: there is none.
  public var thumbnail: ImageSize?

  public struct Shape: Hashable, Sendable {
    public var width: Int?
    public var height: Int?
    public var milliseconds: Int?
    public init(width: Int? = nil, height: Int? = nil, milliseconds: Int? = nil) {
      self.width = width
      self.height = height
      self.milliseconds = milliseconds
    }
  }

  public init(
    id: BlobID, realm: RealmID, owner: UserID, name: String, mediaType: String?, size: Int64, purpose: Purpose,
    state: State = .awaited, createdAt: Timestamp, expiresAt: Timestamp?, sha256: [UInt8]? = nil,
    shape: Shape = Shape(), isResumable: Bool = false, thumbnail: ImageSize? = nil
  ) {
    self.id = id
    self.realm = realm
    self.owner = owner
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.purpose = purpose
    self.state = state
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.sha256 = sha256
    self.shape = shape
    self.isResumable = isResumable
    self.thumbnail = thumbnail
  }

  /// Until then a slot takes its bytes.
  public var slotEnd: Timestamp { createdAt + (isResumable ? Limits.resumableSlotTime : Limits.slotTime) }

  /// Whether its bytes may be given out.
  public func isReadable(at time: Timestamp) -> Bool {
    state == .stored && (expiresAt.map { time < $0 } ?? true)
  }
}

/// A slot that is asked for.
public struct BlobDraft: Sendable {
  public var name: String
  /// As it was written; one that is none counts as absent.
  public var mediaType: String?
  /// Bytes.
  public var size: Int64
  public var purpose: Blob.Purpose
  /// Of an ephemeral one.
  public var expiresBefore: Timestamp?
  public var shape: Blob.Shape
  /// What the bytes must come to; nil: not said.
  public var sha256: [UInt8]?
  /// They may come in parts.
  public var isResumable: Bool

  public init(
    name: String, mediaType: String?, size: Int64, purpose: Blob.Purpose = .message, expiresBefore: Timestamp? = nil,
    shape: Blob.Shape = .init(), sha256: [UInt8]? = nil, isResumable: Bool = false
  ) {
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.purpose = purpose
    self.expiresBefore = expiresBefore
    self.shape = shape
    self.sha256 = sha256
    self.isResumable = isResumable
  }
}

/// What an upload turned out to be.
public struct BlobFindings: Hashable, Sendable {
  public var sha256: [UInt8]
  public var mediaType: String
  /// Of a picture of a known kind, as it is shown; nil: not known.
  public var size: ImageSize?
  public var thumbnail: ImageSize?

  public init(sha256: [UInt8], mediaType: String, size: ImageSize? = nil, thumbnail: ImageSize? = nil) {
    self.sha256 = sha256
    self.mediaType = mediaType
    self.size = size
    self.thumbnail = thumbnail
  }
}

public enum BlobIntent: Sendable {
  /// A slot. `Receipt.value` is the `Blob`.
  case request(BlobDraft)
  /// The bytes of the author's slot are durable. `Receipt.value` is the `Blob`.
  case stored(BlobID, BlobFindings)
  /// A scanner says that nobody may have these bytes, which are removed.
  case refused(BlobID)
  /// The author wants the slot no more.
  case cancelled(BlobID)
  /// The bytes of these are removed, because their time was over.
  case swept([BlobID])
}

/// What one user has here.
public struct BlobUse: Hashable, Sendable {
  /// Those that anything is known of: stored and awaited ones, and what is gone and still counts for the day.
  public var count = 0
  /// Of stored and awaited ones.
  public var bytes: Int64 = 0
  /// Slots that may still be filled, and those among them that may be in parts.
  public var awaited = 0
  public var resumable = 0
  /// Bytes of what was asked for within the day, whatever has become of it.
  public var recentBytes: Int64 = 0
  /// The oldest of that.
  public var oldestRecent: Timestamp?

  public init() {}
}

/// A file that a message brings.
public struct Attachment: Hashable, Sendable {
  /// nil: it is kept elsewhere.
  public var blob: BlobID?
  public var url: String
  public var name: String?
  public var mediaType: String?
  public var size: Int64?
  public var sha256: [UInt8]?
  public var shape: Blob.Shape
  /// A small picture of it.
  public var thumbnail: Thumbnail?

  public struct Thumbnail: Hashable, Sendable {
    public var url: String
    public var mediaType: String?
    /// Pixels.
    public var width: Int?
    public var height: Int?
    public init(url: String, mediaType: String? = nil, width: Int? = nil, height: Int? = nil) {
      self.url = url
      self.mediaType = mediaType
      self.width = width
      self.height = height
    }
  }

  public init(
    blob: BlobID?, url: String, name: String? = nil, mediaType: String? = nil, size: Int64? = nil,
    sha256: [UInt8]? = nil, shape: Blob.Shape = .init(), thumbnail: Thumbnail? = nil
  ) {
    self.blob = blob
    self.url = url
    self.name = name
    self.mediaType = mediaType
    self.size = size
    self.sha256 = sha256
    self.shape = shape
    self.thumbnail = thumbnail
  }
}

/// What this server keeps for its users, and for how long.
public struct BlobPolicy: Sendable {
  public var links: BlobLinks
  /// Bytes of one; at the bound the slot is refused with `blob-too-large`.
  public var bytesMax: Int64
  /// Bytes that one user has here at a time; at the bound `blob-quota`.
  public var userBytesMax: Int64
  /// Bytes that one user asks for within a day; at the bound `blob-day-quota`.
  public var userDayBytesMax: Int64
  /// How long what messages bring is kept; nil: for ever.
  public var lifetime: Duration?
  /// What nobody refers to any more, because its owner's messages were taken back, goes.
  public var endsWithMessages: Bool
  /// What looks at files before anybody may read them.
  public var tools: BlobTools

  public init(
    links: BlobLinks, bytesMax: Int64 = 104_857_600, userBytesMax: Int64 = 1 << 30,
    userDayBytesMax: Int64 = 1 << 29, lifetime: Duration? = nil, endsWithMessages: Bool = true,
    tools: BlobTools = BlobTools()
  ) {
    self.links = links
    self.bytesMax = bytesMax
    self.userBytesMax = userBytesMax
    self.userDayBytesMax = userDayBytesMax
    self.lifetime = lifetime
    self.endsWithMessages = endsWithMessages
    self.tools = tools
  }
}
