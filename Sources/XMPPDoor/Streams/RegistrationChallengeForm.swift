import Accounts
import XMLStream
import XMPP

/// The answers to clients that register without an invitation and have to prove work: the page where a browser gives the
/// proof (XEP-0077 5), and the form with a challenge for clients that compute a proof (XEP-0158 4).
///
/// Gajim and Conversations show people the page only if the answer has no form, and do not know the proof. So a request for
/// the fields is answered with the page alone, and a registration without a proof with an error that has the form, as
/// XEP-0077 3.3 has it for changes of passwords. Without a page the form is the answer to both.
struct RegistrationChallengeForm {
  /// The field of the proof (XEP-0158 6.2).
  static let proof = "SHA-256"

  private let challenge: RegistrationChallenge
  private let domain: String
  private let page: String?

  /// - Parameter page: where people create an account in a browser; nil if there is no such page.
  init(_ challenge: RegistrationChallenge, domain: String, page: String?) {
    self.challenge = challenge
    self.domain = domain
    self.page = page
  }

  /// The instructions for people whose client does not know the proof.
  var advice: String {
    guard let page else {
      return "This app cannot create an account on \(domain), which wants a proof of work that the app does not give."
    }
    return "To create an account on \(domain), visit \(page), then log in with this app."
  }

  private func form(asked id: String?) -> DataForm {
    let sid = id.map { [DataForm.Field("sid", .hidden, $0)] } ?? []
    return DataForm(
      .form, formType: "\(NS.register)", instructions: [advice],
      fields: [DataForm.Field("challenge", .hidden, challenge.id)] + sid + [
        DataForm.Field("username", .textSingle, label: "Username", isRequired: true),
        DataForm.Field("password", .textPrivate, label: "Password", isRequired: true),
        DataForm.Field(Self.proof, .textSingle, label: challenge.target, description: advice, isRequired: true),
      ])
  }

  /// Writes the answer to a request for the fields.
  func writeAnswer(asked id: String?, into writer: inout ElementWriter) {
    write(asked: id, hasForm: page == nil, into: &writer)
  }

  /// Writes the form, for the error of a registration.
  ///
  /// - Parameter id: the id of the request, which the form repeats as `sid`.
  func writeForm(asked id: String?, into writer: inout ElementWriter) {
    write(asked: id, hasForm: true, into: &writer)
  }

  private func write(asked id: String?, hasForm: Bool, into writer: inout ElementWriter) {
    writer.element(.register) { writer in
      writer.element("instructions") { $0.text(advice) }
      if hasForm { form(asked: id).write(into: &writer) }
      if let page { OutOfBand.write(page, into: &writer) }
    }
  }
}
