import Administration
import ArgumentParser

struct Dialog: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Group and public dialogs: list, show, create, members, roles, delete.",
    discussion: """
      XMPP clients know them as rooms. A dialog is given by its address, by the name before the @ where the address is \
      of the first domain, or by the id that apps know. Changes are made in the name of the dialog's first owner.

      Examples:
        parley dialog create balcony --owner alice@localhost --name "The balcony" --member bob@localhost
        parley dialog list
        parley dialog members team@conference.localhost
      """,
    subcommands: [
      DialogList.self, DialogShow.self, DialogCreate.self, DialogMembers.self, DialogAdd.self, DialogRemove.self,
      DialogRoleChange.self, DialogDelete.self, DialogDeleteMessage.self,
    ])
}

extension DialogRole: ExpressibleByArgument {}
