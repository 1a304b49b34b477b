/// What goes for everybody by its age, and what a hold keeps; what is gone for one user.
extension Model {
  /// Everything goes up to a position, or to what a held user has said or changed, with all that is about it.
  mutating func expire(_ place: Place, through end: Int64) {
    let isHeld: Bool
    let isRoom: Bool
    switch place {
    case .pair(let a, let b): (isHeld, isRoom) = (heldUsers.contains(a) || heldUsers.contains(b), false)
    case .room(let room):
      isHeld = rooms[room].map { !$0.isDestroyed && !heldUsers.isDisjoint(with: $0.members) } ?? false
      isRoom = true
    }
    if isHeld || heldPlaces.contains(place) { return }
    // The markers of a room are in no archive, and stay (docs/decisions/0039-retention.md).
    let rest = events.filter {
      $0.place == place && !gone.contains($0.position) && !(isRoom && $0.subject == .marker)
    }
    for event in rest {
      guard event.position <= end else { return }
      // The changes of before another message had the number are gone.
      var changes: [Event] = []
      if case .message(let number) = event.subject {
        changes = rest.filter { if case .change(number, _) = $0.subject { true } else { false } }
      }
      if (changes + [event]).contains(where: { heldUsers.contains($0.author) }) { return }
      gone.formUnion((changes + [event]).map(\.position))
      guard case .message(let number) = event.subject else { continue }
      messages[number]?.isGone = true
      ids = ids.filter { $0.value != number }
      for user in hidden.keys { hidden[user]?.remove(number) }
    }
  }

  /// Everything up to a message goes from the view of one who has a part in the place.
  mutating func age(_ message: Message, for user: Int) {
    guard !message.isGone, since(user, in: message.place) != nil else { return }
    let key = Key(user: user, place: message.place)
    let end = max(cleared[key] ?? 0, message.position)
    cleared[key] = end
    hidden[user]?.subtract(messages.values.filter { $0.place == key.place && $0.position <= end }.map(\.number))
  }

  func isHidden(_ message: Message, from user: Int) -> Bool {
    message.isGone || hidden[user]?.contains(message.number) == true || isCleared(message, for: user)
  }

  func isCleared(_ message: Message, for user: Int) -> Bool {
    message.position <= cleared[Key(user: user, place: message.place)] ?? 0
  }
}
