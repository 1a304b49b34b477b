public import Basics

/// The id of a blob: 128 random, unguessable bits. Knowing it suffices for reading (XEP-0363 3).
public struct BlobID: Hashable, Sendable, CustomStringConvertible {
  public let value: PublicID

  public init(_ value: PublicID) { self.value = value }

  public init?(_ text: some StringProtocol) {
    guard let value = PublicID(String(text)) else { return nil }
    self.init(value)
  }

  public static func random() -> BlobID { BlobID(.random()) }

  public var description: String { value.description }
}

/// The record of a user's file on this server. Its bytes are in a `BlobStore`.
///
/// States: awaited (a slot) -upload-> stored -expiry, of itself or its messages-> gone, which only counts for its
/// owner's day; or awaited -a scanner's refusal-> refused, which counts the same; an awaited one whose slot has ended
/// is forgotten.
public struct Blob: Hashable, Sendable {
  /// Stored: never renumber.
  public enum State: UInt8, Sendable { case awaited = 0, stored = 1, gone = 2, refused = 3 }

  /// The purpose of a file, which decides how long it is kept (XEP-0363 6). Stored: never renumber.
  public enum Purpose: UInt8, Sendable, CaseIterable {
    case message = 0
    /// Kept until its owner is deleted, and bounded in size.
    case profile = 1
    /// Kept at most until a time set by its owner.
    case ephemeral = 2
  }

  public let id: BlobID
  public let realm: RealmID
  public let owner: UserID
  /// The file name: one part of a path, without control characters.
  public let name: String
  /// Type and subtype in lower case; `nil` if not known before the upload.
  public var mediaType: String?
  /// Bytes.
  public let size: Int64
  public let purpose: Purpose
  public var state: State
  public var createdAt: Timestamp
  /// The time from which it cannot be read; `nil` to keep it with its owner.
  public var expiresAt: Timestamp?
  /// The hash of a stored file; for an awaited one the hash that was announced, if there was one.
  public var sha256: [UInt8]?
  /// Pixels, measured of a stored image of a known kind, otherwise as announced; and milliseconds as announced.
  public var shape: Shape
  /// Whether its bytes may come in parts, over a longer time.
  public let isResumable: Bool
  /// The size of its thumbnail (`BlobName.Part.thumbnail`); `nil` if there is none.
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

  /// The time until which the slot takes bytes.
  public var slotEnd: Timestamp { createdAt + (isResumable ? Limits.resumableSlotTime : Limits.slotTime) }

  /// Returns whether the file may be read.
  public func isReadable(at time: Timestamp) -> Bool {
    state == .stored && (expiresAt.map { time < $0 } ?? true)
  }
}

/// A request for a slot.
public struct BlobDraft: Sendable {
  public var name: String
  /// The media type as the client wrote it; an invalid one is ignored.
  public var mediaType: String?
  /// Bytes.
  public var size: Int64
  public var purpose: Blob.Purpose
  /// The expiry of an ephemeral file.
  public var expiresBefore: Timestamp?
  public var shape: Blob.Shape
  /// The announced hash of the bytes; `nil` if there is none.
  public var sha256: [UInt8]?
  /// Whether the bytes may come in parts.
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

/// The detected properties of an upload.
public struct BlobFindings: Hashable, Sendable {
  public var sha256: [UInt8]
  public var mediaType: String
  /// The dimensions of an image of a known kind, as displayed; `nil` if unknown.
  public var size: ImageSize?
  public var thumbnail: ImageSize?
  /// The time at which another server took it, if it came from there.
  public var past: Timestamp?

  public init(sha256: [UInt8], mediaType: String, size: ImageSize? = nil, thumbnail: ImageSize? = nil) {
    self.sha256 = sha256
    self.mediaType = mediaType
    self.size = size
    self.thumbnail = thumbnail
  }
}

public enum BlobIntent: Sendable {
  /// Creates a slot. `Receipt.value` is the `Blob`.
  case request(BlobDraft)
  /// Records that the bytes of the author's slot are durable. `Receipt.value` is the `Blob`.
  case stored(BlobID, BlobFindings)
  /// Records that a scanner refused the bytes, which are removed.
  case refused(BlobID)
  /// Cancels the author's slot.
  case cancelled(BlobID)
  /// Records that the bytes of expired files are removed.
  case swept([BlobID])
}

/// A user's use of file storage.
public struct BlobUse: Hashable, Sendable {
  /// The number of records: stored and awaited files, and removed ones that still count for the day.
  public var count = 0
  /// The bytes of stored and awaited files.
  public var bytes: Int64 = 0
  /// The open slots, and the resumable ones among them.
  public var awaited = 0
  public var resumable = 0
  /// The bytes of slots requested within the day, whatever became of them.
  public var recentBytes: Int64 = 0
  /// The time of the oldest of these.
  public var oldestRecent: Timestamp?

  public init() {}
}

/// A file attached to a message.
public struct Attachment: Hashable, Sendable {
  /// The blob; `nil` if the file is on another server.
  public var blob: BlobID?
  public var url: String
  public var name: String?
  public var mediaType: String?
  public var size: Int64?
  public var sha256: [UInt8]?
  public var shape: Blob.Shape
  /// A small preview image.
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

/// The limits and lifetimes of files on this server.
public struct BlobPolicy: Sendable {
  public var links: BlobLinks
  /// The most bytes of a file; a greater slot is refused with `blob-too-large`.
  public var bytesMax: Int64
  /// The most bytes of one user at a time; beyond it `blob-quota`.
  public var userBytesMax: Int64
  /// The most bytes that one user may request within a day; beyond it `blob-day-quota`.
  public var userDayBytesMax: Int64
  /// The time for which files of messages are kept; `nil` for ever.
  public var lifetime: Duration?
  /// Whether a file is removed when its owner has retracted all messages that refer to it.
  public var endsWithMessages: Bool
  /// The programs that inspect files before they can be read.
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
