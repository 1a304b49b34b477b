import Administration
import ArgumentParser

extension SetRole.Role: ExpressibleByArgument {}

struct UserRole: AdminCommand {
  typealias Operation = SetRole
  static let configuration = CommandConfiguration(
    commandName: "role",
    abstract: "Makes a user an administrator, or a user like the others again.",
    discussion: """
      Administrators sign in at /admin with their own password and second factor, and have the service's commands in their \
      XMPP client. They look after the users, dialogs and reports of their domain, as a key with the scopes * does; those of \
      the first domain also after the server. Either change holds for the next request. Who is named by admins in the \
      configuration is an administrator as long as the name is there; for them `admin` confirms that the account is the right \
      person's, of which parley check and the start remind you otherwise.

      Examples:
        parley user role alice@localhost admin
        parley user role alice@localhost user
        parley user list --role admin
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "What the user becomes.") var role: SetRole.Role
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), role: role) }

  func text(_ user: Operation.Output) -> String {
    user.role == "admin" ? "\(user.jid) is an administrator." : "\(user.jid) is no administrator."
  }
}
