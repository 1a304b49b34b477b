/// A signal between the two devices of a call; it is relayed, and neither read nor stored.
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
  public let dialog: DialogID
  public let sender: Party
  public let body: Body
}
