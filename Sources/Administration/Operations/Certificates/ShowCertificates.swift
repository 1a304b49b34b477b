package import Basics
package import Dialogs

/// Shows the certificates that clients get from the running server, and how it gets its own (ACME).
package enum ShowCertificates: AdminOperation {
  package static let name = "certificates.show"
  package static let scope: AppKey.Scope? = .server
  package static let isReading = true
  package static let needsServer = true

  package typealias Input = Empty

  package struct Certificate: Codable, Hashable, Sendable {
    /// The domains whose clients get it, and the names in it.
    package let domains: [String]
    package let names: [String]
    package let issuer: String
    package let validFrom: String
    package let validUntil: String
    /// `acme`, `file` or `self-signed`.
    package let origin: String
    /// The path of the chain; nil for a caller over HTTP.
    package let file: String?

    package init(
      domains: [String], names: [String], issuer: String, validFrom: String, validUntil: String, origin: String,
      file: String?
    ) {
      self.domains = domains
      self.names = names
      self.issuer = issuer
      self.validFrom = validFrom
      self.validUntil = validUntil
      self.origin = origin
      self.file = file
    }

    /// Returns the dates for people, with a word in capitals if the certificate is not valid now, so that clients refuse it.
    package func validity(at now: Timestamp) -> String {
      let both = "\(validFrom) to \(validUntil)"
      if let end = Timestamp(validUntil), end < now { return "EXPIRED on \(validUntil) (\(both))" }
      if let begin = Timestamp(validFrom), now < begin { return "NOT YET, from \(validFrom) on (\(both))" }
      return both
    }
  }

  /// The state of `tls.acme`.
  package struct Renewal: Codable, Hashable, Sendable {
    package let directory: String
    /// The names that are to be certified.
    package let names: [String]
    package let nextAt: String
    /// The time of the first failure since the last success, and why the last attempt failed or what is missing in its
    /// certificate.
    package let failingSince: String?
    package let failure: String?

    package init(directory: String, names: [String], nextAt: String, failingSince: String?, failure: String?) {
      self.directory = directory
      self.names = names
      self.nextAt = nextAt
      self.failingSince = failingSince
      self.failure = failure
    }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let certificates: [Certificate]
    /// nil if `tls.acme.enabled` is false.
    package let renewal: Renewal?

    package init(certificates: [Certificate], renewal: Renewal?) {
      self.certificates = certificates
      self.renewal = renewal
    }
  }

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    context.shown(try context.running().certificates)
  }
}

extension AdminContext {
  /// Returns the state of certificates as the caller may see it: a path does not leave the machine.
  func shown(_ output: ShowCertificates.Output) -> ShowCertificates.Output {
    if isOperator { return output }
    return ShowCertificates.Output(
      certificates: output.certificates.map {
        .init(
          domains: $0.domains, names: $0.names, issuer: $0.issuer, validFrom: $0.validFrom, validUntil: $0.validUntil,
          origin: $0.origin, file: nil)
      },
      renewal: output.renewal.map {
        .init(
          directory: $0.directory, names: $0.names, nextAt: $0.nextAt, failingSince: $0.failingSince,
          failure: $0.failure.map { reason($0, logged: "names are not certified") })
      })
  }
}
