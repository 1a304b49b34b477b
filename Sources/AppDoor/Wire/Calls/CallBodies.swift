import Basics
import JSON

/// A call between two users.
struct CallBody: Hashable, Sendable, JSONObjectWritable {
  enum Kind: String, Sendable, CaseIterable { case audio, video }
  enum State: String, Sendable, CaseIterable { case ringing, accepted, ended }
  /// The reason of the end.
  enum Reason: String, Sendable, CaseIterable {
    case rejected, cancelled, busy, timeout, ended, failed, replaced, crossed, incompatible
  }
  /// The protocol that negotiates the media.
  enum Media: String, Sendable, CaseIterable { case sdp, jingle }

  /// A side of a call.
  struct Participant: Hashable, Sendable, JSONObjectWritable {
    enum Role: String, Sendable, CaseIterable { case caller, callee }
    var userId: String
    var role: Role
    /// The app's device in the call; absent for an XMPP client, or if there is none yet.
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
  var kind: Kind
  var state: State
  /// A `Reason`, once it has ended.
  var reason: Reason?
  /// A `Media`; absent if it is not known before an answer.
  var media: Media?
  var createdAt: Timestamp
  /// The time when the first device reported that it rings.
  var ringingAt: Timestamp?
  /// The time of the answer.
  var startedAt: Timestamp?
  var endedAt: Timestamp?
  /// The participants, the caller first.
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
  /// The call after the change.
  var call: CallBody
  func writeMembers(to writer: inout JSONWriter) {
    writer.member("call", call)
  }
}

/// `call.signal`: a signal of the other device in a call.
struct CallSignalBody: Hashable, Sendable, JSONObjectWritable {
  enum Action: String, Sendable, CaseIterable { case offer, answer, candidate, info }
  var callId: String
  var dialogId: String
  var senderId: String
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

/// The user to call: one of the two members.
struct StartCallInput: Decodable, Hashable, Sendable {
  var userId: String?
  /// The private dialog with the user.
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
  /// A `CallBody.Reason`; absent for the usual one.
  var reason: String?
}

struct CallSignalInput: Decodable, Hashable, Sendable {
  enum Action: String, Sendable, CaseIterable {
    case ringing, accept, reject, end, offer, answer, candidate, info
  }
  var callId: String
  /// An `Action`.
  var action: String
  /// A `CallBody.Reason`, for `reject` and `end`.
  var reason: String?
  /// The session description, for `offer` and `answer`.
  var sdp: String?
  /// The ICE candidate, for `candidate`.
  var candidate: RawObject?
  /// The app's data, for `info`.
  var info: RawObject?
}
