import Basics
import JSON

/// A call between two users.
struct CallBody: Hashable, Sendable, JSONObjectWritable {
  enum Kind: String, Sendable, CaseIterable { case audio, video }
  enum State: String, Sendable, CaseIterable { case ringing, accepted, ended }
  /// Why it has ended.
  enum Reason: String, Sendable, CaseIterable {
    case rejected, cancelled, busy, timeout, ended, failed, replaced, crossed, incompatible
  }
  /// How the two agree on what is sent.
  enum Media: String, Sendable, CaseIterable { case sdp, jingle }

  /// One end of a call.
  struct Participant: Hashable, Sendable, JSONObjectWritable {
    enum Role: String, Sendable, CaseIterable { case caller, callee }
    var userId: String
    /// A `Role`.
    var role: Role
    /// The app's device that is in the call; absent: an XMPP client, or none yet.
    var deviceId: String?

    func writeMembers(to writer: inout JSONWriter) {
      writer.member("userId", userId)
      writer.member("role", role)
      writer.member("deviceId", deviceId)
    }
  }

  var id: String
  var dialogId: String
  var callerId: String
  /// A `Kind`.
  var kind: Kind
  /// A `State`.
  var state: State
  /// A `Reason`, from when it has ended.
  var reason: Reason?
  /// A `Media`; absent: that is not known before somebody answers.
  var media: Media?
  var createdAt: Timestamp
  /// When the first device said that it rings.
  var ringingAt: Timestamp?
  /// When it was answered.
  var startedAt: Timestamp?
  var endedAt: Timestamp?
  /// The caller first.
  var participants: [Participant]

  func writeMembers(to writer: inout JSONWriter) {
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
  }
}

/// `call.updated`, durable: a call rings, was answered or has ended.
struct CallUpdatedBody: Hashable, Sendable, JSONObjectWritable {
  /// After the change.
  var call: CallBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("call", call)
  }
}

/// `call.signal`: what the other device in a call says.
struct CallSignalBody: Hashable, Sendable, JSONObjectWritable {
  enum Action: String, Sendable, CaseIterable { case offer, answer, candidate, info }
  var callId: String
  var dialogId: String
  var senderId: String
  /// An `Action`.
  var action: Action
  var sdp: String?
  var candidate: RawObject?
  var info: RawObject?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("callId", callId)
    writer.member("dialogId", dialogId)
    writer.member("senderId", senderId)
    writer.member("action", action)
    writer.member("sdp", sdp)
    writer.member("candidate", candidate)
    writer.member("info", info)
  }
}

/// Whom to call: one of the two.
struct StartCallInput: Decodable, Hashable, Sendable {
  var userId: String?
  /// The private dialog with them.
  var dialogId: String?
  /// A `CallBody.Kind`.
  var kind: String
  var clientId: String
}

struct CallReference: Decodable, Hashable, Sendable {
  var callId: String
}

struct EndCallInput: Decodable, Hashable, Sendable {
  var callId: String
  /// A `CallBody.Reason`; absent: the usual one.
  var reason: String?
}

struct CallSignalInput: Decodable, Hashable, Sendable {
  enum Action: String, Sendable, CaseIterable {
    case ringing, accept, reject, end, offer, answer, candidate, info
  }
  var callId: String
  /// An `Action`.
  var action: String
  /// Of `reject` and `end`: a `CallBody.Reason`.
  var reason: String?
  /// Of `offer` and `answer`.
  var sdp: String?
  /// Of `candidate`.
  var candidate: RawObject?
  /// Of `info`.
  var info: RawObject?
}
