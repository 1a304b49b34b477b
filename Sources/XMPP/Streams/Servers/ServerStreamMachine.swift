import XMLStream

/// The part that both machines of a stream between servers share: what an open stream carries besides stanzas, which is
/// dialback for further pairs and acknowledgements, and its end.
protocol ServerStreamMachine {
  associatedtype Phase: ServerStreamPhase
  var phase: Phase { get set }
  var pairs: StreamPairs { get set }
  /// The id of the stream.
  var id: String { get }
  var isManaged: Bool { get }
  var end: StreamEnd? { get set }

  /// Processes an element of stream management.
  mutating func manage(_ element: ManagementElement) -> ServerStreamOutput
}

/// A phase of one of the machines.
protocol ServerStreamPhase {
  static var closed: Self { get }
}

extension ServerStreamMachine {
  // MARK: Elements

  /// Processes an element of dialback on an open stream; `nil` for a request, if the peer may make none.
  mutating func dialback(_ element: Element, mayAsk: Bool = true) -> ServerStreamOutput? {
    guard let dialback = Dialback(element) else {
      return refuse(StreamError(.improperAddressing, "a dialback element lacks a domain, the id or the key"))
    }
    // XEP-0220 3.1: nothing was asked on this stream, so that nothing can be answered.
    guard case .key(let key) = dialback.content else {
      return refuse(StreamError(.policyViolation, "an answer to a dialback request that was never sent"))
    }
    guard mayAsk else { return nil }
    switch dialback.step {
    case .result: return end(pairs.requested(dialback, key: key, streamID: id))
    case .verify: return pairs.asked(dialback, key: key, streamID: id)
    }
  }

  /// Processes an element of stream management (XEP-0198); `nil` for another element.
  mutating func management(_ element: Element) -> ServerStreamOutput? {
    do {
      return try ManagementElement(element).map { manage($0) }
    } catch {
      // A broken acknowledgement leaves both sides with different counts, which cannot be repaired.
      if element.is(.smAcknowledge) { return refuse(StreamError(.invalidXML, error.text)) }
      return .send([.managementFailed(error.condition)])
    }
  }

  /// Returns the output for a request or an acknowledgement.
  func counted(_ element: ManagementElement) -> ServerStreamOutput {
    isManaged ? .management(element) : .send([.managementFailed(.unexpectedRequest)])
  }

  // MARK: The end

  /// Ends the stream with an error, behind a header if none was sent yet.
  mutating func refuse(_ error: StreamError, with header: StreamResponse? = nil) -> ServerStreamOutput {
    over(.refused(error))
    return .refuse(header, error)
  }

  /// Notes the end that an output of the pairs means.
  mutating func end(_ output: ServerStreamOutput) -> ServerStreamOutput {
    if case .refuse(_, let error) = output { over(.refused(error)) }
    if case .reject = output { over(.undialled(.invalid)) }
    return output
  }

  /// Notes the end; the first reason is the one that counts.
  mutating func over(_ end: StreamEnd) {
    phase = .closed
    self.end = self.end ?? end
  }
}
