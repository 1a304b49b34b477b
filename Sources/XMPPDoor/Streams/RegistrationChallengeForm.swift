import Accounts
import XMLStream
import XMPP

/// The form of those who register without an invitation where they prove work (XEP-0158 4). A client that does not know
/// the proof shows people the page where a browser gives it (XEP-0077 5): by the URL, or by the text.
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

  /// Returns what people do whose client does not know the proof.
  static func advice(_ domain: String, page: String?) -> String {
    guard let page else {
      return "This app cannot create an account on \(domain), which wants a proof of work that the app does not give."
    }
    return "To create an account on \(domain), visit \(page), then log in with this app."
  }

  private var form: DataForm {
    let advice = Self.advice(domain, page: page)
    return DataForm(
      .form, formType: "\(NS.register)", instructions: [advice],
      fields: [
        DataForm.Field("challenge", .hidden, challenge.id),
        DataForm.Field("username", .textSingle, label: "Username", isRequired: true),
        DataForm.Field("password", .textPrivate, label: "Password", isRequired: true),
        DataForm.Field(Self.proof, .textSingle, label: challenge.target, description: advice, isRequired: true),
      ])
  }

  /// - Parameter id: the id of the request, which the form repeats as `sid`.
  func write(asked id: String?, into writer: inout ElementWriter) {
    var form = self.form
    if let id { form.fields.insert(DataForm.Field("sid", .hidden, id), at: 2) }
    writer.element(.register) { writer in
      writer.element("instructions") { $0.text(Self.advice(domain, page: page)) }
      form.write(into: &writer)
      if let page { OutOfBand.write(page, into: &writer) }
    }
  }
}
