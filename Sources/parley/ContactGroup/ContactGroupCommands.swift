import Administration
import ArgumentParser

struct ContactGroupCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "contact-group",
    abstract: "Contact groups, whose members are in each other's rosters: create, add, remove, see, show, delete.",
    discussion: """
      All members of a group have each other as contacts and see each other online, without having asked; they can \
      neither remove these contacts nor unsubscribe from them. Changes reach connected clients at once. A user's own \
      contacts stay as they are beneath, and are what remains when the group is deleted.

      Examples:
        parley contact-group create sales --display-name "Sales"
        parley contact-group add sales alice@localhost bob@localhost
        parley contact-group create staff --everyone
        parley contact-group see sales support
      """,
    subcommands: [
      ContactGroupList.self, ContactGroupShow.self, ContactGroupCreate.self, ContactGroupAdd.self,
      ContactGroupRemove.self, ContactGroupSee.self, ContactGroupUnsee.self, ContactGroupDelete.self,
    ])
}

extension ContactGroupRow {
  /// The groups that it sees, as a sentence.
  var sight: String {
    sees.isEmpty ? "\(name) sees no other group." : "\(name) sees \(sees.joined(separator: ", "))."
  }

  /// The number of members for people.
  var size: String { members == 1 ? "1 member" : "\(members) members" }
}
