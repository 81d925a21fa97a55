import type { CompleteMatch, KeyMatches, MatchedEvent, MatchNode } from './partial-match.ts'
import type { AfterMatch } from './term.ts'

/** The receiver of what a matcher finds. */
export interface MatchReceiver<T> {
  /** A match that ended at an event time, ms. */
  matched(last: MatchNode<T>, time: number): void
  /** A partial match whose time is over, at an event time, ms. */
  timedOut(last: MatchNode<T>, time: number): void
  /** Partial matches that were dropped because there were too many. */
  dropped(count: number): void
}

/**
 * Matches on their way out. Where a match removes others, it waits for partial matches that started before it, because they
 * may become one that removes it; of those that start with the same record, the one that ended first comes first, of those
 * that end with the same record the longest one, and of equally long ones the one whose records came first.
 */
export class CompleteMatches<T> {
  private readonly afterMatch: AfterMatch
  private readonly receiver: MatchReceiver<T>
  private added: CompleteMatch<T>[] = []

  constructor(afterMatch: AfterMatch, receiver: MatchReceiver<T>) {
    this.afterMatch = afterMatch
    this.receiver = receiver
  }

  /** Adds matches that ended at one event time. */
  add(nodes: readonly MatchNode<T>[], time: number): void {
    for (const node of nodes) this.added.push({ node, time })
  }

  /** Passes on the matches that nothing can remove any more, and removes what they remove. */
  release(matches: KeyMatches<T>): void {
    if (this.added.length === 0 && matches.complete.length === 0) return
    const added = this.added.sort(
      (a, b) => startOf(a) - startOf(b) || a.time - b.time || compareRecords(a.node, b.node),
    )
    this.added = []
    if (this.afterMatch.kind === 'none') {
      for (const { node, time } of added) this.receiver.matched(node, time)
      return
    }
    let waiting = [...matches.complete, ...added].sort((a, b) => startOf(a) - startOf(b))
    let [next] = waiting
    while (next !== undefined && !isBefore(matches.partial[0], next)) {
      this.receiver.matched(next.node, next.time)
      const from = this.firstThatStays(next)
      waiting = waiting.slice(1).filter((other) => startOf(other) >= from)
      matches.partial = matches.partial.filter((other) => startOf(other) >= from)
      next = waiting[0]
    }
    matches.complete = waiting
  }

  /** The id of the first record with which another match may start. */
  private firstThatStays({ node }: CompleteMatch<T>): number {
    const { afterMatch } = this
    switch (afterMatch.kind) {
      case 'to-next':
        return node.first.id + 1
      case 'past-last-event':
        return node.event.id + 1
      case 'to-first':
        return eventsOfStage(node, afterMatch.stage)[0]?.id ?? 0
      case 'to-last':
        return eventsOfStage(node, afterMatch.stage).at(-1)?.id ?? 0
      default:
        return 0
    }
  }
}

interface Started<T> {
  readonly node: MatchNode<T>
}

function startOf<T>({ node }: Started<T>): number {
  return node.first.id
}

/** Compares the records of matches: the longest first, then the first one that differs, or the first stage that does. */
function compareRecords<T>(a: MatchNode<T>, b: MatchNode<T>): number {
  if (a.length !== b.length) return b.length - a.length
  let byRecord = 0
  let byStage = 0
  let [one, other]: (MatchNode<T> | undefined)[] = [a, b]
  // From the last record to the first one: the last difference that is seen is the first one of the match.
  while (one !== undefined && other !== undefined && one !== other) {
    byRecord = one.event.id - other.event.id || byRecord
    byStage = one.position.stageNumber - other.position.stageNumber || byStage
    one = one.previous
    other = other.previous
  }
  return byRecord || byStage
}

function isBefore<T>(partial: Started<T> | undefined, match: Started<T>): boolean {
  return partial !== undefined && startOf(partial) < startOf(match)
}

function eventsOfStage<T>(last: MatchNode<T>, stage: string): readonly MatchedEvent<T>[] {
  const events: MatchedEvent<T>[] = []
  for (let node: MatchNode<T> | undefined = last; node !== undefined; node = node.previous) {
    if (node.position.stage === stage) events.push(node.event)
  }
  return events.reverse()
}
