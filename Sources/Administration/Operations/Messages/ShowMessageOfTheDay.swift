import Basics
package import Dialogs

/// Shows a domain's message of the day.
package enum ShowMessageOfTheDay: AdminOperation {
  package static let name = "motd.show"
  package static let scope: AppKey.Scope? = .announcements
  package static let isReading = true

  package struct Input: Codable, Sendable {
    /// nil for the first domain.
    let domain: String?
    package init(domain: String?) { self.domain = domain }
  }

  package struct Output: Codable, Hashable, Sendable {
    package let domain: String
    /// The message; `nil` if there is none.
    package let text: String?
    package let setAt: String?

    init(_ realm: Realm, in context: AdminContext) {
      let message = Announcements(context.parley).messageOfTheDay(in: realm.id)
      domain = realm.domain
      text = message?.text
      setAt = message.map { $0.time.description }
    }
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    Output(try context.realm(input.domain), in: context)
  }
}
