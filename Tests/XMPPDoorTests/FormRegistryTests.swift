import Addresses
import Dialogs
import Testing
import XMLStream
import XMPP
import XMPPFixtures

@testable import XMPPDoor

/// Every form that this door shows has the fields of its specification, with their types.
@Suite("Forms by their registries")
struct FormRegistryTests {
  // MARK: XEP-0060 1.30.0, 16.4

  @Test func nodeConfiguration() {
    let registry = FormRegistry(
      "http://jabber.org/protocol/pubsub#node_config",
      [
        "pubsub#access_model": .listSingle, "pubsub#deliver_notifications": .boolean,
        "pubsub#deliver_payloads": .boolean, "pubsub#description": .textSingle, "pubsub#item_expire": .textSingle,
        "pubsub#itemreply": .listSingle, "pubsub#max_items": .textSingle, "pubsub#max_payload_size": .textSingle,
        "pubsub#node_type": .listSingle, "pubsub#notification_type": .listSingle, "pubsub#notify_config": .boolean,
        "pubsub#notify_delete": .boolean, "pubsub#notify_retract": .boolean, "pubsub#notify_sub": .boolean,
        "pubsub#persist_items": .boolean, "pubsub#presence_based_delivery": .boolean,
        "pubsub#publish_model": .listSingle, "pubsub#publish_node_full": .listSingle, "pubsub#purge_offline": .boolean,
        "pubsub#roster_groups_allowed": .listMulti, "pubsub#send_last_published_item": .listSingle,
        "pubsub#subscribe": .boolean, "pubsub#tempsub": .boolean, "pubsub#title": .textSingle,
        "pubsub#type": .textSingle,
      ])
    var configuration = NodeConfiguration()
    configuration.groups = ["Friends"]
    configuration.title = "Tunes"
    for kind in [DataForm.Kind.form, .result] {
      let form = NodeForm.form(of: configuration, groups: ["Friends", "Family"], kind: kind)
      #expect(registry.faults(of: form) == [])
      // A form to be filled in offers no yes or no where one of them is refused.
      let fixed: Set = [
        "pubsub#presence_based_delivery", "pubsub#purge_offline", "pubsub#notify_sub", "pubsub#subscribe",
        "pubsub#tempsub", "pubsub#item_expire",
      ]
      let names = Set(form.fields.dropFirst().compactMap(\.name))
      #expect(names == Set(registry.fields.keys).subtracting(kind == .form ? fixed : []))
    }
  }

  @Test func nodeMetadata() throws {
    let registry = FormRegistry(
      "http://jabber.org/protocol/pubsub#meta-data",
      [
        "pubsub#access_model": .listSingle, "pubsub#creation_date": .textSingle, "pubsub#creator": .jidSingle,
        "pubsub#description": .textSingle, "pubsub#max_items": .textSingle, "pubsub#num_subscribers": .textSingle,
        "pubsub#owner": .jidMulti, "pubsub#publish_model": .listSingle, "pubsub#title": .textSingle,
        "pubsub#type": .textSingle,
      ])
    var configuration = NodeConfiguration()
    configuration.title = "Tunes"
    configuration.about = "Heard"
    configuration.type = "urn:tune"
    let juliet = try BareJID("juliet@capulet.lit")
    let node = Node(owner: UserID(1), name: "n", configuration: configuration, createdAt: someTime)
    #expect(registry.faults(of: NodeForm.metadata(of: node, at: juliet, NodePeople())) == [])
  }

  @Test func subscriptions() throws {
    let options = FormRegistry(
      "http://jabber.org/protocol/pubsub#subscribe_options", ["pubsub#deliver": .boolean])
    #expect(options.faults(of: SubscriptionForm.form(true, .form)) == [])
    let authorization = FormRegistry(
      "http://jabber.org/protocol/pubsub#subscribe_authorization",
      ["pubsub#allow": .boolean, "pubsub#node": .textSingle, "pubsub#subscriber_jid": .jidSingle])
    #expect(authorization.faults(of: AuthorizationForm.form(node: "n", try JID("horatio@denmark.lit/inn"))) == [])
  }

  // MARK: XEP-0045 1.35.5, 16.5

  @Test func roomConfiguration() throws {
    let registry = FormRegistry(
      "http://jabber.org/protocol/muc#roomconfig",
      [
        "muc#maxhistoryfetch": .textSingle, "muc#roomconfig_allowinvites": .boolean,
        "muc#roomconfig_allowpm": .listSingle,
        "muc#roomconfig_changesubject": .boolean, "muc#roomconfig_lang": .textSingle,
        "muc#roomconfig_maxusers": .listSingle, "muc#roomconfig_membersonly": .boolean,
        "muc#roomconfig_moderatedroom": .boolean, "muc#roomconfig_passwordprotectedroom": .boolean,
        "muc#roomconfig_persistentroom": .boolean, "muc#roomconfig_publicroom": .boolean,
        "muc#roomconfig_roomadmins": .jidMulti, "muc#roomconfig_roomdesc": .textSingle,
        "muc#roomconfig_roomname": .textSingle, "muc#roomconfig_roomowners": .jidMulti,
        "muc#roomconfig_roomsecret": .textPrivate, "muc#roomconfig_whois": .listSingle,
        // XEP-0500 0.1.1, 5.1.
        "muc#roomconfig_slow_mode_duration": .textSingle,
        // Parley's own.
        "parley#history": .listSingle, "parley#acceptremote": .boolean, "parley#retention": .textSingle,
        "parley#readonly": .boolean,
      ])
    let crone = try bare("crone1@shakespeare.lit")
    for settings in [RoomSettings.open, .group] {
      let form = ConfigurationForm.form(of: settings, owners: [crone], admins: [crone], isFederated: true)
      #expect(registry.faults(of: form) == [])
    }
  }

  @Test func roomInformation() throws {
    let registry = FormRegistry(
      "http://jabber.org/protocol/muc#roominfo",
      [
        "muc#maxhistoryfetch": .textSingle, "muc#roominfo_contactjid": .jidMulti,
        "muc#roominfo_description": .textSingle, "muc#roominfo_lang": .textSingle,
        "muc#roominfo_occupants": .textSingle, "muc#roominfo_subject": .textSingle,
        "muc#roominfo_subjectmod": .boolean,
        // 6.4: fields of the configuration.
        "muc#roomconfig_allowinvites": .boolean, "muc#roomconfig_allowpm": .listSingle,
        "muc#roomconfig_changesubject": .boolean, "muc#roomconfig_roomname": .textSingle,
        // XEP-0486 0.1.0, 3.3; XEP-0500 0.1.1, 5.2; XEP-0502 0.1.0.
        "muc#roominfo_avatarhash": .textMulti, "muc#roominfo_slow_mode_duration": .textSingle,
        "{urn:xmpp:muc-activity}message-activity": .textSingle,
        // Parley's own.
        "parley#retention": .textSingle,
      ])
    var settings = RoomSettings.open
    settings.retentionDays = 30
    settings.name = "A Dark Cave"
    settings.about = "The place for all good witches!"
    settings.language = "en"
    settings.avatarHash = "a31c4bd04de69663cfd7f424a8453f4674da37ff"
    let room = Room(
      name: try room(), externalID: nil, createdAt: someTime, settings: settings,
      topic: Topic(text: "Spells", nick: "firstwitch", time: someTime))
    let capabilities = RoomInfo.capabilities(
      of: room, occupants: 3, isMember: true, owners: [try bare("crone1@shakespeare.lit")], activity: 1)
    let form = try #require(capabilities.forms.first)
    #expect(registry.faults(of: form) == [])
    #expect(form.fields.count == registry.fields.count + 1)
  }

  @Test func roomRequests() throws {
    let registration = FormRegistry(
      "http://jabber.org/protocol/muc#register", ["muc#register_roomnick": .textSingle])
    let query = try element { RegistrationForm.write(suggesting: "thirdwitch", into: &$0) }
    #expect(registration.faults(of: try #require(try query.payload(DataForm.self))) == [])
    let voice = FormRegistry(
      "http://jabber.org/protocol/muc#request",
      [
        "muc#role": .listSingle, "muc#jid": .jidSingle, "muc#roomnick": .textSingle, "muc#request_allow": .boolean,
      ])
    #expect(voice.faults(of: VoiceRequest.form(nick: "thirdwitch", address: try bare("hag66@shakespeare.lit"))) == [])
  }

  // MARK: Others

  /// XEP-0313 1.1.3, 4.1.5: ids are a list that takes any value, which the form of that section shows; 10 registers
  /// text-multi.
  @Test func archive() throws {
    let registry = FormRegistry(
      "urn:xmpp:mam:2",
      [
        "with": .jidSingle, "start": .textSingle, "end": .textSingle, "before-id": .textSingle,
        "after-id": .textSingle, "ids": .listMulti, "include-groupchat": .boolean,
        // XEP-0431 0.2.0, 2.
        "{urn:xmpp:fulltext:0}fulltext": .textSingle,
      ], open: ["ids"])
    let query = try element { Archive.writeForm(ofRoom: false, into: &$0) }
    #expect(registry.faults(of: try #require(try query.payload(DataForm.self))) == [])
    // A room refuses to filter by person, and has nothing but its own messages: it does not offer the fields for both.
    let room = try element { Archive.writeForm(ofRoom: true, into: &$0) }
    let form = try #require(try room.payload(DataForm.self))
    #expect(registry.faults(of: form) == [])
    #expect(
      Set(form.fields.compactMap(\.name)) == [
        "FORM_TYPE", "start", "end", "before-id", "after-id", "ids", "{urn:xmpp:fulltext:0}fulltext",
      ])
  }

  /// XEP-0055 1.3, 7.2; the column of the address besides (3).
  @Test func userSearch() throws {
    let registry = FormRegistry(
      "jabber:iq:search",
      [
        "first": .textSingle, "last": .textSingle, "nick": .textSingle, "email": .textSingle, "jid": .jidSingle,
      ])
    #expect(registry.faults(of: UserSearch.form) == [])
    let found = try element { UserSearch.write([], asForm: true, into: &$0) }
    #expect(registry.faults(of: try #require(try found.payload(DataForm.self))) == [])
  }

  /// XEP-0433 0.1.0, 4.2 and 5.
  @Test func channelSearch() {
    let registry = FormRegistry(
      "urn:xmpp:channel-search:0:search-params",
      [
        "q": .textSingle, "all": .boolean, "sinname": .boolean, "sindescription": .boolean, "sinaddr": .boolean,
        "min_users": .textSingle, "types": .listMulti, "key": .listSingle,
      ])
    #expect(registry.faults(of: ChannelSearch.form) == [])
  }

  /// XEP-0157 1.1.1, 7.2; XEP-0455 0.4.0, 9.2.
  @Test func serverInformation() throws {
    let roles = ["abuse", "admin", "feedback", "sales", "security", "status", "support"]
    let contacts = FormRegistry(
      "http://jabber.org/network/serverinfo",
      Dictionary(uniqueKeysWithValues: roles.map { ("\($0)-addresses", .listMulti) }))
    let offered = Dictionary(uniqueKeysWithValues: roles.map { ($0, ["mailto:a@localhost", "mailto:b@localhost"]) })
    #expect(contacts.faults(of: try #require(ContactAddresses.form(offered))) == [])
    let outage = FormRegistry("urn:xmpp:sos:0", ["external-status-addresses": .listMulti])
    #expect(outage.faults(of: OutageStatus.form(["https://a.example", "https://b.example"])) == [])
  }
}
