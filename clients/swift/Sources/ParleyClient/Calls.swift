/// What one device tells the other in a call.
public struct CallSignal: Hashable, Sendable {
  public struct Action: Word {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let offer: Self = "offer", answer: Self = "answer", candidate: Self = "candidate", info: Self = "info"
  }

  public var action: Action
  public var sdp: String?
  public var candidate, info: JSONObject?
}

/// A call as it was when the event told it. The SDK carries signals; media is the app's (WebRTC).
public struct Call: Sendable, Identifiable {
  public var id: String { state.id }
  public let state: CallState
  public let isMine: Bool
  /// Whether this device is one of the two in the call.
  public let isHere: Bool
  let parley: Parley

  /// Tells the caller that this device rings.
  public func ringing() async throws { try await parley.signal(id, "ringing") }
  /// Answers here; throws `call-answered` if another device was faster, `call-ended` after the end.
  public func accept() async throws { try await parley.signal(id, "accept") }
  /// `rejected` or `busy`.
  public func reject(_ reason: CallReason? = nil) async throws {
    try await parley.signal(id, "reject", ("reason", JSONValue(reason?.rawValue)))
  }
  public func end(_ reason: CallReason? = nil) async throws {
    try await parley.tell("DELETE", path("calls", id), query: [("reason", reason?.rawValue)])
  }
  public func offer(_ sdp: String) async throws { try await parley.signal(id, "offer", ("sdp", .string(sdp))) }
  public func answer(_ sdp: String) async throws { try await parley.signal(id, "answer", ("sdp", .string(sdp))) }
  public func candidate(_ candidate: JSONObject) async throws {
    try await parley.signal(id, "candidate", ("candidate", .object(candidate)))
  }
  public func info(_ info: JSONObject) async throws { try await parley.signal(id, "info", ("info", .object(info))) }
}

extension Parley {
  /// Rings at all devices of a user.
  public func call(userId: String, _ kind: CallState.Kind) async throws -> Call {
    try await call(["userId": .string(userId)], kind)
  }

  public func call(dialogId: String, _ kind: CallState.Kind) async throws -> Call {
    try await call(["dialogId": .string(dialogId)], kind)
  }

  private func call(_ to: JSONObject, _ kind: CallState.Kind) async throws -> Call {
    let body = to.merging(["kind": .string(kind.rawValue), "clientId": .string(randomId())]) { $1 }
    return apply(try await persist { try await ask("POST", "/calls", body: .object(body)) })
  }

  /// The calls that have not ended.
  public func listCalls() async throws -> [Call] {
    try await (ask("GET", "/calls") as Page<CallState>).items.map { apply($0) }
  }

  public func iceServers() async throws -> [IceServer] {
    try await (ask("GET", "/ice-servers") as Page<IceServer>).items
  }

  private func made(_ state: CallState) -> Call {
    Call(
      state: state, isMine: state.callerId == userId,
      isHere: state.participants.contains { $0.userId == userId && $0.deviceId == deviceId }, parley: self)
  }

  /// Takes a state, and tells it if it is new. An answer can be older than an event: a call never goes back.
  @discardableResult func apply(_ state: CallState) -> Call {
    let order: [CallState.Phase] = [.ringing, .accepted, .ended]
    if let known = calls[state.id] {
      guard (order.firstIndex(of: known.state) ?? 0) <= (order.firstIndex(of: state.state) ?? 0), known != state else {
        return made(known)
      }
    }
    calls[state.id] = state
    let call = made(state)
    emit(.call(call))
    return call
  }

  /// Sends signals of a call one after the other: a candidate must not overtake its offer.
  func signal(_ callId: String, _ action: String, _ members: (String, JSONValue?)...) async throws {
    let body = JSONObject([("action", .string(action))] + members)
    let before = signals[callId]
    let task = Task {
      _ = await before?.result
      apply(try await ask("POST", path("calls", callId, "signals"), body: .object(body)) as CallState)
    }
    signals[callId] = task
    defer { if signals[callId] == task { signals[callId] = nil } }
    try await task.value
  }

  func signaled(_ data: ServerEvent.CallSignaled) {
    let signal = CallSignal(action: data.action, sdp: data.sdp, candidate: data.candidate, info: data.info)
    if let state = calls[data.callId] { return emit(.signal(made(state), signal)) }
    Task {
      do { emit(.signal(apply(try await ask("GET", path("calls", data.callId))), signal)) } catch { failed(error) }
    }
  }
}
