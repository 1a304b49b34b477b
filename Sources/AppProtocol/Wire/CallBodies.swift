/// A call between two users.
public struct CallBody: Codable, Hashable, Sendable, JSONWritable {
  public enum Kind: String, Codable, Sendable, CaseIterable { case audio, video }
  public enum State: String, Codable, Sendable, CaseIterable { case ringing, accepted, ended }
  /// Why it has ended.
  public enum Reason: String, Codable, Sendable, CaseIterable {
    case rejected, cancelled, busy, timeout, ended, failed, replaced, crossed, incompatible
  }
  /// How the two agree on what is sent.
  public enum Media: String, Codable, Sendable, CaseIterable { case sdp, jingle }

  /// One end of a call.
  public struct Participant: Codable, Hashable, Sendable, JSONWritable {
    public enum Role: String, Codable, Sendable, CaseIterable { case caller, callee }
    public var userId: String
    /// A `Role`.
    public var role: String
    /// The app's device that is in the call; absent: an XMPP client, or none yet.
    public var deviceId: String?

    public init(userId: String, role: Role, deviceId: String?) {
      self.userId = userId
      self.role = role.rawValue
      self.deviceId = deviceId
    }

    public func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("userId", userId)
      writer.member("role", role)
      writer.member("deviceId", deviceId)
      writer.endObject()
    }
  }

  public var id: String
  public var dialogId: String
  public var callerId: String
  /// A `Kind`.
  public var kind: String
  /// A `State`.
  public var state: String
  /// A `Reason`, from when it has ended.
  public var reason: String?
  /// A `Media`; absent: that is not known before somebody answers.
  public var media: String?
  public var createdAt: WireTime
  /// When the first device said that it rings.
  public var ringingAt: WireTime?
  /// When it was answered.
  public var startedAt: WireTime?
  public var endedAt: WireTime?
  /// The caller first.
  public var participants: [Participant]

  public init(
    id: String, dialogId: String, callerId: String, kind: Kind, state: State, reason: Reason?, media: Media?,
    createdAt: WireTime, ringingAt: WireTime?, startedAt: WireTime?, endedAt: WireTime?, participants: [Participant]
  ) {
    self.id = id
    self.dialogId = dialogId
    self.callerId = callerId
    self.kind = kind.rawValue
    self.state = state.rawValue
    self.reason = reason?.rawValue
    self.media = media?.rawValue
    self.createdAt = createdAt
    self.ringingAt = ringingAt
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.participants = participants
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("dialogId", dialogId)
    writer.member("callerId", callerId)
    writer.member("kind", kind)
    writer.member("state", state)
    writer.member("reason", reason)
    writer.member("media", media)
    writer.member("createdAt", createdAt)
    writer.member("ringingAt", ringingAt)
    writer.member("startedAt", startedAt)
    writer.member("endedAt", endedAt)
    writer.member("participants", participants)
    writer.endObject()
  }
}

/// `call.updated`, durable: a call rings, was answered or has ended.
public struct CallUpdatedBody: Codable, Hashable, Sendable, JSONWritable {
  /// After the change.
  public var call: CallBody
  public init(call: CallBody) { self.call = call }
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("call", call)
    writer.endObject()
  }
}

/// `call.signal`: what the other device in a call says.
public struct CallSignalBody: Codable, Hashable, Sendable, JSONWritable {
  public enum Action: String, Codable, Sendable, CaseIterable { case offer, answer, candidate, info }
  public var callId: String
  public var dialogId: String
  public var senderId: String
  /// An `Action`.
  public var action: String
  public var sdp: String?
  public var candidate: RawObject?
  public var info: RawObject?

  public init(
    callId: String, dialogId: String, senderId: String, action: Action, sdp: String?, candidate: RawObject?,
    info: RawObject?
  ) {
    self.callId = callId
    self.dialogId = dialogId
    self.senderId = senderId
    self.action = action.rawValue
    self.sdp = sdp
    self.candidate = candidate
    self.info = info
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("callId", callId)
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("action", action)
    writer.member("sdp", sdp)
    writer.member("candidate", candidate)
    writer.member("info", info)
    writer.endObject()
  }
}

/// Whom to call: one of the two.
public struct StartCallInput: Codable, Hashable, Sendable {
  public var userId: String?
  /// The private dialog with them.
  public var dialogId: String?
  /// A `CallBody.Kind`.
  public var kind: String
  public var clientId: String
  public init(userId: String? = nil, dialogId: String? = nil, kind: String, clientId: String) {
    self.userId = userId
    self.dialogId = dialogId
    self.kind = kind
    self.clientId = clientId
  }
}

public struct CallReference: Codable, Hashable, Sendable {
  public var callId: String
  public init(callId: String) { self.callId = callId }
}

public struct EndCallInput: Codable, Hashable, Sendable {
  public var callId: String
  /// A `CallBody.Reason`; absent: the usual one.
  public var reason: String?
  public init(callId: String, reason: String? = nil) {
    self.callId = callId
    self.reason = reason
  }
}

public struct CallSignalInput: Codable, Hashable, Sendable {
  public enum Action: String, Codable, Sendable, CaseIterable {
    case ringing, accept, reject, end, offer, answer, candidate, info
  }
  public var callId: String
  /// An `Action`.
  public var action: String
  /// Of `reject` and `end`: a `CallBody.Reason`.
  public var reason: String?
  /// Of `offer` and `answer`.
  public var sdp: String?
  /// Of `candidate`.
  public var candidate: RawObject?
  /// Of `info`.
  public var info: RawObject?

  public init(
    callId: String, action: Action, reason: String? = nil, sdp: String? = nil, candidate: RawObject? = nil,
    info: RawObject? = nil
  ) {
    self.callId = callId
    self.action = action.rawValue
    self.reason = reason
    self.sdp = sdp
    self.candidate = candidate
    self.info = info
  }
}
