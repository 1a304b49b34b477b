/// The reason why a session description or candidate has no equivalent in the other protocol.
///
///     throw MediaProblem("fingerprint-missing", "The medium 0 has no DTLS fingerprint.", .security)
public struct MediaProblem: Error, Hashable, Sendable {
  /// The condition of `<reason/>` (XEP-0166 7.4) that says the same to a Jingle client.
  public enum Condition: String, Sendable {
    case parameters = "incompatible-parameters"
    case application = "unsupported-applications"
    case transport = "unsupported-transports"
    case security = "security-error"
  }
  /// The code for a change of the media of a call: the session goes on.
  static let renegotiationUnsupported = "renegotiation-unsupported"
  /// The code for an answer that nothing asked for: the session goes on.
  public static let answerUnexpected = "answer-unexpected"

  /// A stable code, for programs.
  public let code: String
  /// The reason, for people.
  public let text: String
  public let condition: Condition

  public init(_ code: String, _ text: String, _ condition: Condition = .parameters) {
    self.code = code
    self.text = text
    self.condition = condition
  }
}

extension String {
  /// Returns the text, which must fit within a line of SDP (RFC 8866 9): a peer's value never begins a line.
  func line(_ what: String) throws(MediaProblem) -> String {
    guard utf8.count <= JingleLimits.valueBytesMax else {
      throw MediaProblem("value-too-long", "\(what) has more than \(JingleLimits.valueBytesMax) bytes.")
    }
    guard unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 }) else {
      throw MediaProblem("value-invalid", "\(what) has a control character.")
    }
    return self
  }

  /// Returns the text, which must be one word of SDP: not empty, visible ASCII without spaces.
  func word(_ what: String) throws(MediaProblem) -> String {
    _ = try line(what)
    guard !isEmpty, utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
      throw MediaProblem("value-invalid", "\(what) is empty, or has a space or a character that is not ASCII.")
    }
    return self
  }
}

extension Optional<String> {
  /// Returns the value, which must be there and be one word.
  func word(_ what: String) throws(MediaProblem) -> String {
    guard let self else { throw MediaProblem("value-missing", "\(what) is missing.") }
    return try self.word(what)
  }

  /// Returns the value, which must be there and be a number.
  func number<Number: FixedWidthInteger>(_ what: String, _: Number.Type = Number.self) throws(MediaProblem) -> Number {
    guard let self else { throw MediaProblem("value-missing", "\(what) is missing.") }
    guard let number = Number(self), self.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else {
      throw MediaProblem("value-invalid", "\(what) is no number from 0 to \(Number.max).")
    }
    return number
  }
}

extension Array {
  /// Returns the list, which must be within the bound of one medium.
  func bounded(_ what: String) throws(MediaProblem) -> [Element] {
    guard count <= JingleLimits.elementsMax else {
      throw MediaProblem("too-many-elements", "A medium has more than \(JingleLimits.elementsMax) \(what).")
    }
    return self
  }
}
