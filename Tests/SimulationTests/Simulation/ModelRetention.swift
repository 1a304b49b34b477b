/// What goes for everybody by its age, and what a hold keeps; what is gone for one user.
extension Model {
  /// Everything goes up to a position, or to what a held user has said or changed, with all that is about it.
  mutating func expire(_ place: Place, through end: Int64) {
    let isHeld =
      switch place {
      case .pair(let a, let b): heldUsers.contains(a) || heldUsers.contains(b)
      case .room(let room): rooms[room].map { !$0.isDestroyed && !heldUsers.isDisjoint(with: $0.members) } ?? false
      }
    if isHeld || heldPlaces.contains(place) { return }
    let rest = events.filter { $0.place == place && !gone.contains($0.position) }
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

  func isHidden(_ message: Message, from user: Int) -> Bool {
    message.isGone || hidden[user]?.contains(message.number) == true || isCleared(message, for: user)
  }

  func isCleared(_ message: Message, for user: Int) -> Bool {
    message.position <= cleared[Key(user: user, place: message.place)] ?? 0
  }
}
