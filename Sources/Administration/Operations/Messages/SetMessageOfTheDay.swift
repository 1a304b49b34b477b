package import Dialogs

/// What everybody is told once, now or at their next login; no text: nothing any more.
package enum SetMessageOfTheDay: AdminOperation {
  package static let name = "motd.set"

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    let text: String?
    /// Also who knows the one before; else this corrects it.
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
    try await context.parley.setMessageOfTheDay(input.text, again: input.again, in: realm)
    return Output(realm, in: context)
  }
}
