public import Addresses

/// A signal between the two devices of a call. It is not stored, and is relayed unread between apps; for an XMPP client its
/// door translates it to Jingle.
public struct CallSignal: Hashable, Sendable {
  public enum Action: String, Sendable, CaseIterable { case offer, answer, candidate, info }
  public struct Body: Hashable, Sendable {
    public var action: Action
    /// A session description (RFC 8866); at most `Limits.callSDPBytesMax`.
    public var sdp: String?
    /// An ICE candidate as a JSON object, at most `Limits.callSignalBytesMax`.
    public var candidate: String?
    /// A JSON object of the app's, at most `Limits.callSignalBytesMax`, such as that it is muted.
    public var info: String?
    public init(action: Action, sdp: String? = nil, candidate: String? = nil, info: String? = nil) {
      self.action = action
      self.sdp = sdp
      self.candidate = candidate
      self.info = info
    }
  }
  public let call: Position
  /// The call's id in XMPP.
  public let name: String
  public let dialog: DialogID
  public let sender: Party
  public let senderResource: String
  /// Whether the sender has called.
  public let isCaller: Bool
  /// The address of the device that it is for.
  public let recipient: BareJID
  public let recipientResource: String?
  /// Whether it is for an app's device, and not for an XMPP client of the same resource.
  public let isForApp: Bool
  public let body: Body
}
