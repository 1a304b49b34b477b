import Addresses
import Dialogs

extension StoreConformance {
  static let contactGroups: [Case] = [
    Case(name: "a contact group makes contacts of its members, above what they have of their own") { scene in
      let own = Contact(
        owner: scene.romeo.id, address: scene.juliet.address, peer: scene.juliet.id, name: "Sun", groups: ["Hearts"],
        subscription: .nonePendingOut, version: Position(4))
      let (sales, staff) = try scene.write { writer in
        let sales = try writer.put(group(scene, "sales", "Sales"))
        let staff = try writer.put(group(scene, "staff", "Staff"))
        for (group, users) in [(sales, [scene.romeo, scene.juliet]), (staff, [scene.romeo, scene.nurse])] {
          for user in users { try writer.put(ContactGroupMember(group: group.id, user: user.id)) }
        }
        try writer.put(own)
        return (sales, staff)
      }
      try scene.read { reader in
        try equal(try reader.contactGroups(in: scene.romeo.realm), [sales, staff])
        try equal(try reader.contactGroup("staff", in: scene.romeo.realm), staff)
        try equal(try reader.contactGroups(of: scene.romeo.id), [sales, staff])
        try equal(try reader.contactGroups(of: scene.nurse.id), [staff])
        try equal(Set(try reader.members(ofContactGroup: sales.id)), [scene.romeo.id, scene.juliet.id])
        try equal(try reader.memberCount(ofContactGroup: staff.id), 2)
        let found = try reader.contact(of: scene.romeo.id, scene.juliet.address)
        try require(found != nil, "there is no contact")
        guard let juliet = found else { return }
        try equal(juliet.name, "Sun")
        try equal(juliet.groups, ["Hearts", "Sales"])
        try equal(juliet.subscription, .both)
        try equal(juliet.sharedBy, ["Sales"])
        try equal(
          try reader.contacts(of: scene.romeo.id).map(\.address).sorted { $0.description < $1.description },
          [scene.juliet.address, scene.nurse.address])
        try equal(try reader.contacts(of: scene.romeo.id).first { $0.name == "Sun" }, juliet)
        try equal(try reader.contacts(of: scene.juliet.id).map(\.address), [scene.romeo.address])
        try equal(try reader.contact(of: scene.juliet.id, scene.nurse.address), nil)
        try equal(try reader.contact(of: scene.romeo.id, scene.romeo.address), nil)
        try equal(try reader.ownContacts(of: scene.romeo.id), [own])
      }
      try scene.reopen()
      try scene.write { try $0.remove(ContactGroupMember(group: sales.id, user: scene.juliet.id)) }
      try equal(try scene.read { try $0.contact(of: scene.romeo.id, scene.juliet.address) }, own)
    },
    Case(name: "members of groups that see each other are contacts, and those of a third are not") { scene in
      let groups = try scene.write { writer in
        let groups = try [("a", scene.romeo), ("b", scene.juliet), ("c", scene.nurse)].map { name, user in
          let made = try writer.put(group(scene, name, name.uppercased()))
          try writer.put(ContactGroupMember(group: made.id, user: user.id))
          return made
        }
        for (one, two) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
          try writer.put(ContactGroupLink(group: groups[one].id, seen: groups[two].id))
        }
        return groups
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(Set(try reader.contactGroups(seenBy: groups[1].id)), [groups[0].id, groups[2].id])
        try equal(try reader.contacts(of: scene.romeo.id).map(\.address), [scene.juliet.address])
        try equal(try reader.contact(of: scene.romeo.id, scene.juliet.address)?.groups, ["B"])
        try equal(try reader.contact(of: scene.juliet.id, scene.romeo.address)?.groups, ["A"])
        try equal(try reader.contacts(of: scene.juliet.id).count, 2)
        try equal(try reader.contact(of: scene.romeo.id, scene.nurse.address), nil)
      }
    },
  ]

  private static func group(_ scene: Scene, _ name: String, _ displayName: String) -> ContactGroup {
    ContactGroup(realm: scene.romeo.realm, name: name, displayName: displayName, hasEveryone: false)
  }
}
