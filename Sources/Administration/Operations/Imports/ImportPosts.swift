import Dialogs
import Synchronization
import XMPPDoor

/// The posts of a batch of records, and what came of each.
extension ImportRecords {
  /// The intents of a record, which its owner posts.
  struct Wish: Sendable {
    let place: Int
    let owner: Party
    let noting: ImportNotes.Owner
    let intents: [Intent]
  }

  /// The thing that a record is about, and whose it is.
  private struct Subject: Hashable {
    let owner: ImportNotes.Owner
    let thing: ImportedThing
  }

  /// Posts everything. Of two records about one thing the first that is not refused counts: the second one is decided
  /// when the first is committed.
  static func post(
    _ wishes: [Wish], _ reading: ImportedRecords, _ parley: Parley
  ) async throws(Problem) -> [Int: RowOutcome] {
    var outcomes: [Int: RowOutcome] = [:]
    var subjects: Set<Subject> = []
    var left = wishes[...]
    while !left.isEmpty {
      let part = try await post(left, after: subjects, reading, parley)
      outcomes.merge(part.outcomes) { $1 }
      subjects.formUnion(part.subjects)
      left = left.dropFirst(part.count)
    }
    return outcomes
  }

  /// The first wishes, as far as they were posted.
  private struct Part: Sendable {
    var count = 0
    var subjects: Set<Subject> = []
    var outcomes: [Int: RowOutcome] = [:]
  }

  /// Posts the first wishes in one transaction, up to one about a thing that an earlier one brings. What is here already, or
  /// was brought by an import before, is left alone. The notes follow in a transaction of their own, when it is known what
  /// was taken: if the machine dies between them, only what a user has removed meanwhile would come again.
  ///
  /// - Parameter subjects: What earlier records of the batch were about.
  private static func post(
    _ wishes: ArraySlice<Wish>, after subjects: Set<Subject>, _ reading: ImportedRecords, _ parley: Parley
  ) async throws(Problem) -> Part {
    let results = Results()
    let work = WriteTransaction(following: { writer in
      var notes = ImportNotes()
      var posts: [Post] = []
      var part = Part()
      for wish in wishes {
        let decision = try ImportDecision(
          wish.intents, of: wish.owner, noting: wish.noting, &notes, reading, writer)
        let subject = decision.subject.map { Subject(owner: wish.noting, thing: $0) }
        let about: [ImportedThing]
        switch decision {
        case .here(let things):
          results.add(RowOutcome(.exists), wish.place)
          about = things
        case .kept(let reason, let things):
          let isRepeated = subject.map { subjects.contains($0) } ?? false
          results.add(RowOutcome(.exists, isRepeated ? repeated : reason, code: kept), wish.place)
          about = things
        case .post(let intents, let things, let reason):
          if let subject, !part.subjects.insert(subject).inserted { return (part, posts) }
          about = things
          for intent in intents {
            posts.append(
              Post(
                author: wish.owner, intent: intent,
                completion: .callback { results.add(outcome($0, keeping: reason), wish.place) }))
          }
        }
        let unknown = try about.filter { try !notes.contains($0, of: wish.noting, writer) }
        results.note(unknown, of: wish.noting, wish.place)
        part.count += 1
      }
      return (part, posts)
    })
    guard var part = try await parley.post(.work(work), by: Parley.nobody).value as? Part else { throw Problem.storage }
    let taken = results.things
    if !taken.isEmpty { try await parley.work(keepingCaches: true) { try ImportNotes.add(taken, $0) } }
    part.outcomes = results.all
    return part
  }

  /// The outcomes of the posts of one batch.
  private final class Results: Sendable {
    private let outcomes = Mutex<[Int: RowOutcome]>([:])
    private let notes = Mutex<[(place: Int, owner: ImportNotes.Owner, thing: ImportedThing)]>([])
    var all: [Int: RowOutcome] { outcomes.withLock(\.self) }

    /// The things that get a note: all that were not refused.
    var things: [(owner: ImportNotes.Owner, thing: ImportedThing)] {
      let known = all
      return notes.withLock { notes in
        let taken = notes.filter { note in known[note.place].map { $0.status != .failed } ?? false }
        return taken.map { (owner: $0.owner, thing: $0.thing) }
      }
    }

    func note(_ things: [ImportedThing], of owner: ImportNotes.Owner, _ place: Int) {
      notes.withLock { notes in notes += things.map { (place: place, owner: owner, thing: $0) } }
    }

    /// A record has failed if one of its posts has, and was there already if all were.
    func add(_ outcome: RowOutcome, _ place: Int) {
      outcomes.withLock { outcomes in
        guard let before = outcomes[place] else { return outcomes[place] = outcome }
        if before.status == .failed { return }
        if outcome.status == .failed || before.status == .exists { outcomes[place] = outcome }
      }
    }
  }

  /// - Parameter reason: Why a part of the record was not posted.
  private static func outcome(_ result: Result<Receipt, Problem>, keeping reason: String?) -> RowOutcome {
    switch result {
    case .success(let receipt) where receipt.isKept: RowOutcome(.exists, ImportDecision.changedOrRemoved, code: kept)
    case .success(let receipt):
      RowOutcome(receipt.isRepeat ? .exists : .done, reason, code: reason == nil ? nil : kept)
    // A node that exists is configured by the next post.
    case .failure(let problem) where problem.code == Problem.nodeTaken.code: RowOutcome(.exists)
    case .failure(let problem): RowOutcome(problem)
    }
  }
}
