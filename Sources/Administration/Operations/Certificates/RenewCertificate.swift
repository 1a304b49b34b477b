package import Dialogs

/// Orders a new certificate from the ACME authority now, and answers when it is in service or has failed. Delays after
/// failures do not apply; the bound of orders within a day and the authority's own wishes do.
package enum RenewCertificate: AdminOperation {
  package static let name = "certificates.renew"
  package static let scope: AppKey.Scope? = .server
  /// The time in which an authority validates the names and issues the certificate, or the attempt ends.
  package static let answerWait = AdminLimits.certificateWait
  package static let needsServer = true

  package typealias Input = Empty
  package typealias Output = ShowCertificates.Output

  package static func perform(_ input: Empty, in context: AdminContext) async throws(Problem) -> Output {
    let server = try context.running()
    try await server.renewCertificate()
    return context.shown(server.certificates)
  }
}
