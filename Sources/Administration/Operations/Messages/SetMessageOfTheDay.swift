package import Dialogs

/// Sets the text that each user receives once, now or at the next login; without a text it is removed.
package enum SetMessageOfTheDay: AdminOperation {
  package static let name = "motd.set"
  package static let scope: AppKey.Scope? = .announcements

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    let text: String?
    /// Whether users who have received the previous text receive this one too; otherwise it only corrects it.
    let again: Bool
    package init(domain: String?, text: String?, again: Bool) {
      self.domain = domain
      self.text = text
      self.again = again
    }
  }

  package typealias Output = ShowMessageOfTheDay.Output

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let realm = try context.realm(input.domain)
    try await Announcements(context.parley).setMessageOfTheDay(input.text, again: input.again, in: realm)
    return Output(realm, in: context)
  }
}
