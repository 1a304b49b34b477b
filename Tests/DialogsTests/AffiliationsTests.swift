import Dialogs
import DialogsFixtures
import Testing

/// The charts of XEP-0045 on changes of affiliations, cell by cell. A watcher, which the XEP does not define, is a
/// member who enters without voice.
@Suite struct AffiliationsTests {
  /// Table 7, the affiliation state chart: the rank that each change needs. Row: the present affiliation; column: the
  /// new one. A: admin or owner; O: owner; -: no change.
  private static let chart: [[Character]] = [
    // outcast, none, watcher, member, admin, owner
    Array("-AAAOO"),  // outcast
    Array("A-AAOO"),  // none
    Array("AA-AOO"),  // watcher
    Array("AAA-OO"),  // member
    Array("OOOO-O"),  // admin
    Array("OOOOO-"),  // owner
  ]

  @Test func affiliationsChangeAsTheirStateChartSays() {
    for actor in Affiliation.allCases {
      for was in Affiliation.allCases {
        for now in Affiliation.allCases where was != now {
          let expected: ChangeRefusal? =
            switch Self.chart[Int(was.rawValue)][Int(now.rawValue)] {
            case "A" where actor >= .admin: nil
            case "O" where actor == .owner: nil
            // The power is there, but not over these.
            case _ where actor == .admin: .outranked
            default: .powerless
            }
          #expect(
            refusal { () throws(ChangeRefusal) in try actor.mayChange(from: was, to: now) } == expected,
            "\(actor) makes \(was) \(now)")
        }
      }
    }
  }

  @Test func aUserWhoMayChangeNobodyMayNotEvenConfirmAnAffiliation() {
    for actor in Affiliation.allCases where actor < .admin {
      for other in Affiliation.allCases {
        #expect(refusal { () throws(ChangeRefusal) in try actor.mayChange(from: other, to: other) } == .powerless)
      }
    }
  }

  /// Users can give up their own affiliation and not raise it; a banned user cannot lift the ban; users with the right
  /// to ban cannot ban themselves (9.1: `conflict`).
  @Test func oneOnlyGivesUpWhatOneIs() {
    // The table has what users of each affiliation may make of themselves.
    let ways: [Affiliation: [Affiliation]] = [
      .outcast: [], .none: [], .watcher: [.none], .member: [.none, .watcher],
      .admin: [.none, .watcher, .member], .owner: [.none, .watcher, .member, .admin],
    ]
    for was in Affiliation.allCases {
      for now in Affiliation.allCases {
        let refused = refusal { () throws(ChangeRefusal) in try was.mayBecome(now) }
        #expect((refused == nil) == (ways[was]?.contains(now) == true), "\(was) becomes \(now)")
        if refused != nil, !(was >= .admin && now == .outcast) { #expect(refused == .powerless) }
        if was >= .admin, now == .outcast { #expect(refused != .powerless, "\(was) bans themselves") }
      }
    }
  }

  /// Table 4.
  @Test func oneEntersWithTheRoleOfOnesAffiliation() {
    let roles: [(Affiliation, moderated: Role, unmoderated: Role)] = [
      (.outcast, .none, .none), (.none, .visitor, .participant), (.watcher, .visitor, .visitor),
      (.member, .participant, .participant), (.admin, .moderator, .moderator), (.owner, .moderator, .moderator),
    ]
    #expect(roles.count == Affiliation.allCases.count)
    for (affiliation, moderated, unmoderated) in roles {
      #expect(affiliation.role(isModerated: true) == moderated)
      #expect(affiliation.role(isModerated: false) == unmoderated)
    }
  }

  /// Table 5, the role state chart, for occupants. M: moderator; A: admin or owner.
  private static let roles: [Role: [Role: Character]] = [
    .visitor: [.none: "M", .participant: "M", .moderator: "A"],
    .participant: [.none: "M", .visitor: "M", .moderator: "A"],
    .moderator: [.none: "A", .visitor: "A", .participant: "A"],
  ]

  /// The chart and what the text adds to it.
  private static func isAllowed(
    _ role: Role, _ actor: Affiliation, _ was: Role, _ now: Role, _ target: Affiliation
  ) -> Bool {
    let isAdmin = actor >= .admin
    guard isAdmin || (role == .moderator && roles[was]?[now] == "M") else { return false }
    switch now {
    // 8.2: not somebody of a higher affiliation.
    case .none: return target <= actor
    // 8.4: not from a user whose affiliation is at or above the moderator's; an
    // admin's or owner's voice by nobody.
    case .visitor: return target < .admin && (target < actor || isAdmin)
    // 9.7: moderation is taken only from who is neither admin nor owner. 8.3: voice is given to anybody.
    case .participant: return was == .visitor || target < .admin
    // 9.6.
    case .moderator: return true
    }
  }

  @Test func rolesChangeAsTheirStateChartSays() {
    var count = 0
    for role in Role.allCases {
      for actor in Affiliation.allCases {
        for (was, ways) in Self.roles {
          for now in ways.keys {
            for target in Affiliation.allCases where target != .outcast {
              let refused = refusal { () throws(ChangeRefusal) in
                try role.mayChange(was, to: now, actor: actor, target: target)
              }
              #expect(
                (refused == nil) == Self.isAllowed(role, actor, was, now, target),
                "a \(role) who is \(actor) makes \(target) who is \(was) a \(now)")
              // `forbidden` is who has no such power at all, `not-allowed` who has none over this one.
              if role != .moderator, actor < .admin { #expect(refused == .powerless) }
              if actor >= .admin, refused != nil { #expect(refused == .outranked) }
              count += 1
            }
          }
        }
      }
    }
    #expect(count == 4 * 6 * 9 * 5)
  }

  private func refusal(_ body: () throws(ChangeRefusal) -> Void) -> ChangeRefusal? {
    do throws(ChangeRefusal) {
      try body()
      return nil
    } catch {
      return error
    }
  }
}
