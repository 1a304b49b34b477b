import Administration
import ArgumentParser

extension SetRole.Role: ExpressibleByArgument {}

struct UserRole: AdminCommand {
  typealias Operation = SetRole
  static let configuration = CommandConfiguration(
    commandName: "role",
    abstract: "Makes a user an administrator, or an ordinary user again.",
    discussion: """
      Administrators sign in at /admin with their own password and second factor, and have the service's commands in their \
      XMPP client. They manage the users, dialogs and reports of their domain, as a key with the scopes * does; those of the \
      first domain also manage the server. A change takes effect with the next request. Users listed by admins in the \
      configuration are administrators in any case; for them `admin` confirms that the account belongs to the right person, \
      which ends the reminders of parley check and of the start.

      Examples:
        parley user role alice@localhost admin
        parley user role alice@localhost user
        parley user list --role admin
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The new role.") var role: SetRole.Role
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), role: role) }

  func text(_ user: Operation.Output) -> String {
    user.role == "admin" ? "\(user.jid) is an administrator." : "\(user.jid) is not an administrator."
  }
}
