/// What one device in a call tells the other. Passed on, and neither read nor kept.
public struct CallSignal: Hashable, Sendable {
  public enum Action: String, Sendable, CaseIterable { case offer, answer, candidate, info }
  public struct Body: Hashable, Sendable {
    public var action: Action
    /// A session description (RFC 8866); at most `Limits.callSDPBytesMax`.
    public var sdp: String?
    /// A JSON object, at most `Limits.callSignalBytesMax`: an ICE candidate.
    public var candidate: String?
    /// A JSON object, at most `Limits.callSignalBytesMax`: what else the app wants to say, such as that it is muted.
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
