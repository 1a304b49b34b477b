import ArgumentParser

struct User: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Users: add, list, show, change, delete, import.",
    discussion: """
      A name without @ belongs to the first domain.

      Examples:
        parley user add alice@localhost --generate
        parley user list
        parley user import users.csv
      """,
    subcommands: [
      UserAdd.self, UserList.self, UserShow.self, UserPassword.self, UserDisconnect.self, UserDisable.self,
      UserEnable.self, UserDelete.self, UserExport.self, UserImport.self, UserEmail.self, UserPhone.self,
      UserSecondFactor.self, UserNoteChange.self, UserRole.self,
    ])
}
