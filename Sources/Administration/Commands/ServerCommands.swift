import Addresses
import Basics
package import Commands
import Dialogs
import XMPP

/// The list of the commands that users and admins have in any client with XEP-0050. Those of admins perform operations
/// of the command line (`AdminOperations`), with the names of XEP-0133 where it defines one; those of users do what the
/// app protocol and other XEPs offer, for clients without these.
package enum ServerCommands {
  package static func all(_ context: AdminContext) -> [AdHocCommand] {
    [
      // XEP-0133 4.1 to 4.10
      .addUser(context), .deleteUsers(context), .disableUsers(context), .enableUsers(context),
      .endSessions(context), .changePassword(context), .userRoster(context), .lastLogin(context),
      .userStatistics(context),
      // 4.13 to 4.22
      .count(.registered, context), .count(.disabled, context), .count(.online, context), .count(.active, context),
      .count(.idle, context), .list(.registered, context), .list(.disabled, context), .list(.online, context),
      .list(.active, context), .list(.idle, context),
      // 4.23 to 4.26
      .announce(context), .setMessageOfTheDay(context), .editMessageOfTheDay(context), .deleteMessageOfTheDay(context),
      // Federation
      .federationLinks(context), .federationDomain(context),
      // XEP-0401
      .invite(context), .createAccount(context),
      // Users' own
      .ping, .sessions(context), .changeOwnPassword(context), .appPasswords(context), .messageAge(context),
    ] + (context.parley.blobs == nil ? [] : [.export(context)])
  }
}

extension AdHocCommand {
  /// Returns a command of XEP-0133 for admins, which is performed in a context that acts for them.
  ///
  /// - Parameters:
  ///   - name: The part of its node behind the `#`.
  ///   - fields: The fields of its form; nil if the command is performed at once.
  static func admin(
    _ context: AdminContext, _ name: String, _ title: String, _ instructions: String = "",
    fields: (@Sendable (Party) -> [DataForm.Field])? = nil,
    perform: @escaping @Sendable (DataForm, Party, AdminContext) async throws(Problem) -> Outcome
  ) -> AdHocCommand {
    let node = formType + "#" + name
    guard let fields else {
      return AdHocCommand(node: node, title: title, audience: .admins) { (session) throws(Problem) in
        .done(try await perform(DataForm(.submit), session.party, context.acting(session)))
      }
    }
    return AdHocCommand(
      node: node, title: title, audience: .admins,
      course: .form(
        { session in
          DataForm(.form, formType: formType, title: title, instructions: [instructions], fields: fields(session.party))
        },
        perform: { (form, session) throws(Problem) in
          try await perform(form, session.party, context.acting(session))
        }))
  }

  /// Returns a command that performs one action on each of several accounts; an unknown account does not prevent the
  /// others.
  static func eachAccount(
    _ context: AdminContext, _ name: String, _ title: String, _ label: String,
    perform: @escaping @Sendable (String, AdminContext) async throws(Problem) -> Void
  ) -> AdHocCommand {
    admin(context, name, title, label + ".", fields: { _ in [.accounts(label)] }) {
      (form, _, context) throws(Problem) in
      var failures: [String] = []
      for jid in try form.accounts() {
        do throws(Problem) { try await perform(jid, context) } catch {
          failures.append("\(Line.safe(jid)): \(error.text)")
        }
      }
      return failures.isEmpty ? .done(nil) : .incomplete(failures)
    }
  }

  static let formType = "http://jabber.org/protocol/admin"
}

extension AdminContext {
  /// Returns the context of an administrator's XMPP client.
  func acting(_ session: any LiveSession) -> AdminContext {
    let party = session.party
    let resource = parley.hub.allSessions(of: party.id).first { $0.session === session }?.resource
    let actor = AuditActor(.xmpp, name: party.address.description, origin: resource ?? "")
    // The audience of admins has users of served realms alone; another would see a realm without anybody.
    guard let realm = parley.realms.first(where: { $0.id == party.realm }) else { return acting(actor) }
    return within(realm, scopes: administratorScopes(in: realm), of: actor.name).acting(actor)
  }
}

extension AdHocCommand.Outcome {
  static func fields(_ fields: [DataForm.Field]) -> Self {
    .result(DataForm(.result, formType: AdHocCommand.formType, fields: fields))
  }
}

extension DataForm.Field {
  static func accounts(_ label: String) -> DataForm.Field {
    DataForm.Field("accountjids", .jidMulti, label: label, isRequired: true)
  }

  static func account(_ label: String) -> DataForm.Field {
    DataForm.Field("accountjid", .jidSingle, label: label, isRequired: true)
  }
}

extension DataForm {
  /// Returns the field's value. The errors are more specific than XEP-0004's.
  func required(_ name: String) throws(Problem) -> String {
    guard let value = value(name), !value.isEmpty else {
      throw Problem(.malformed, "field-missing", "The field \(name) is empty.", field: name)
    }
    return value
  }

  /// Returns the password that was typed twice.
  func newPassword() throws(Problem) -> String {
    let password = try required("password")
    guard value("password-verify") == password else {
      throw Problem(.malformed, "passwords-differ", "The two passwords are not the same.", field: "password-verify")
    }
    return password
  }

  /// Returns the accounts that the form names, each once (XEP-0004 3.3).
  func accounts() throws(Problem) -> [String] {
    var seen: Set<String> = []
    let values = values("accountjids").filter {
      !$0.isEmpty && seen.insert(JID(parsing: $0)?.description ?? $0).inserted
    }
    guard !values.isEmpty else { throw Problem(.malformed, "field-missing", "Name an account.", field: "accountjids") }
    guard values.count <= AdminLimits.commandAccountsMax else {
      throw Problem(
        .tooLarge, "too-many-accounts", "At most \(AdminLimits.commandAccountsMax) accounts at a time.",
        field: "accountjids")
    }
    return values
  }
}
