package import Basics
import JSON

/// An authority's advice on when a certificate should be renewed (RFC 9773).
package struct RenewalInfo: Hashable, Sendable {
  package let start: Timestamp
  package let end: Timestamp
  /// The URL of a page that says why; nil if there is none.
  package let explanation: String?
  /// The seconds after which to ask again.
  package let checkSeconds: Int

  /// Reads an answer (4.2). A window that ends before it begins counts as no answer.
  package init(_ answer: Answer) throws(ACMEFailure) {
    guard answer.status == 200 else {
      // 4.3.3: these are temporary, others are not.
      throw ACMEFailure("the status is \(answer.status)", isUnreachable: answer.status >= 500)
    }
    guard let value = try? JSONValue(parsing: answer.body), let window = value["suggestedWindow"],
      let start = window["start"]?.string.flatMap({ Timestamp($0) }),
      let end = window["end"]?.string.flatMap({ Timestamp($0) }), start < end
    else { throw ACMEFailure("it names no time") }
    self.start = start
    self.end = end
    explanation = value["explanationURL"]?.string.map { Line.safe(String($0.prefix(ACMELimits.textMax))) }
    let bounds = ACMELimits.renewalCheckSeconds
    checkSeconds =
      answer.retryAfter.map { min(max($0, bounds.lowerBound), bounds.upperBound) } ?? ACMELimits.renewalCheck
  }

  /// Returns the time of renewal within the window.
  ///
  /// - Parameter fraction: From 0 to below 1, as for `RenewalTime`: 4.2 wants a time that is uniformly random.
  package func time(fraction: Double) -> Timestamp {
    Timestamp(milliseconds: start.milliseconds + Int64(Double(end.milliseconds - start.milliseconds) * fraction))
  }

  /// Returns the URL to ask for a certificate (4.1); nil if the authority tells nothing of renewals.
  ///
  /// - Parameter directory: The answer with the authority's directory.
  package static func url(of certificate: String, in directory: Answer) throws(ACMEFailure) -> String? {
    guard directory.status == 200, let value = try? JSONValue(parsing: directory.body) else {
      throw ACMEFailure("the authority has no directory there", isUnreachable: directory.status >= 500)
    }
    return try Directory(value).renewalInfo.map { "\($0)/\(certificate)" }
  }

  /// Returns the name that an authority knows a certificate by (4.1).
  ///
  /// - Parameters:
  ///   - authority: The key identifier of its Authority Key Identifier.
  ///   - serial: The bytes of its serial number; leading zeros do not matter.
  package static func certificate(authority: some Sequence<UInt8>, serial: some Sequence<UInt8>) -> String {
    var number = Array(serial.drop { $0 == 0 })
    // DER: a number whose first bit is set would be negative.
    if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
    return Base64URL.string(authority) + "." + Base64URL.string(number)
  }

  /// Returns the seconds after which to ask again, after failures in a row (4.3.3).
  package static func check(after failures: Int, isTemporary: Bool) -> Int {
    guard isTemporary, failures <= ACMELimits.renewalRetriesMax else { return ACMELimits.renewalCheck }
    return ACMELimits.renewalCheckSeconds.lowerBound << (failures - 1)
  }
}
