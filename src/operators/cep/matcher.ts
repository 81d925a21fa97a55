import { WeirError } from '../../core/errors.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { Automaton, Edge } from './automaton.ts'
import { CompleteMatches, type MatchReceiver } from './complete-matches.ts'
import { type KeyMatches, MatchedEvent, MatchNode, type PartialMatch } from './partial-match.ts'
import { TestedEvent } from './tested-event.ts'

/** Options of a matcher. */
export interface MatcherOptions {
  /** Most partial matches of a key. */
  readonly maxPartialMatches: number
  /** What happens with more: the job fails, or the partial matches that started first are dropped. */
  readonly whenFull: 'fail' | 'drop-oldest'
}

/** What an edge does with a record. */
interface Step {
  takes: boolean
  /** The number of the edge that stays open; -1 for none. */
  stays: number
}

/** Finds the matches of a pattern in the records of a key, which come in the order of their event time. */
export class Matcher<T> {
  private readonly automaton: Automaton<T>
  private readonly options: MatcherOptions
  private readonly receiver: MatchReceiver<T>
  private readonly tested: TestedEvent<T>
  private readonly complete: CompleteMatches<T>
  private readonly step: Step = { takes: false, stays: -1 }
  /** Whether a match has taken the present record. */
  private hasTaken = false

  constructor(automaton: Automaton<T>, options: MatcherOptions, receiver: MatchReceiver<T>) {
    this.automaton = automaton
    this.options = options
    this.receiver = receiver
    this.tested = new TestedEvent(automaton)
    this.complete = new CompleteMatches(automaton.spec.afterMatch, receiver)
  }

  /** When the first partial match of a key times out; undefined where none does. */
  firstTimeout({ partial: [first] }: KeyMatches<T>): number | undefined {
    const { withinMs } = this.automaton.spec
    return first === undefined || withinMs === undefined ? undefined : this.endOf(first, withinMs)
  }

  /** Ends the partial matches whose time is over at an event time: those that wait for it match. */
  advanceTime(matches: KeyMatches<T>, time: number): void {
    const { withinMs } = this.automaton.spec
    if (withinMs === undefined) return
    const { partial } = matches
    let count = 0
    while (count < partial.length && this.endOf(partial[count]!, withinMs) <= time) count += 1
    if (count === 0) return
    matches.partial = partial.slice(count)
    for (const ended of partial.slice(0, count)) {
      const { node } = ended
      const end = this.endOf(ended, withinMs)
      if (ended.open.some((edge) => isEnd(node.position.edges[edge]!))) {
        this.complete.add([node], end)
      } else if (!ended.isWhole) {
        this.receiver.timedOut(node, end)
      }
    }
    this.complete.release(matches)
  }

  /** Takes the next record. Throws TOO_MANY_PARTIAL_MATCHES. */
  advance(matches: KeyMatches<T>, record: T, time: number): void {
    const event = new MatchedEvent(matches.nextId, time, record)
    this.tested.next(event)
    const found: MatchNode<T>[] = []
    const partial: PartialMatch<T>[] = []
    for (const each of matches.partial) this.grow(each, partial, found)
    const { edges, opening } = this.automaton.start
    for (const number of opening) {
      const edge = edges[number]!
      if (this.advanceEdge(edge, undefined, true).takes) this.take(edge, undefined, partial, found)
    }
    // A record that no match holds needs no number.
    if (this.hasTaken) matches.nextId += 1
    this.hasTaken = false
    // A record that changes nothing leaves the list as it is.
    if (!isSame(partial, matches.partial)) matches.partial = partial
    if (found.length > 0) this.complete.add(found, time)
    this.complete.release(matches)
    this.limit(matches)
  }

  /** Adds what becomes of a partial match: itself, where it still waits, and those that the record makes of it. */
  private grow(each: PartialMatch<T>, partial: PartialMatch<T>[], found: MatchNode<T>[]): void {
    const { node, open, isFresh } = each
    const { edges } = node.position
    const taken: Edge[] = []
    const stay: number[] = []
    let hasEnded = false
    for (const number of open) {
      const edge = edges[number]!
      const { takes, stays } = this.advanceEdge(edge, node, isFresh)
      if (stays >= 0) stay.push(stays)
      if (takes && edge.to === undefined) hasEnded = true
      else if (takes) taken.push(edge)
    }
    if (stay.length > 0) {
      const isWhole = each.isWhole || hasEnded
      const isUnchanged = !isFresh && isWhole === each.isWhole && isSame(stay, open)
      partial.push(isUnchanged ? each : { node, open: stay, isFresh: false, isWhole })
    }
    if (hasEnded) found.push(node)
    for (const edge of taken) this.take(edge, node, partial, found)
  }

  /** Adds the match whose last record is the present one. */
  private take(
    edge: Edge,
    previous: MatchNode<T> | undefined,
    partial: PartialMatch<T>[],
    found: MatchNode<T>[],
  ): void {
    const position = edge.to!
    const node = new MatchNode(position, this.tested.event, previous)
    const { opening: open, accepts: isWhole } = position
    if (open.length > 0) partial.push({ node, open, isFresh: true, isWhole })
    if (isWhole) found.push(node)
    this.hasTaken = true
  }

  private advanceEdge(given: Edge, node: MatchNode<T> | undefined, isFresh: boolean): Step {
    const { step } = this
    step.takes = false
    step.stays = -1
    if (this.holdsAny(given.untils, node)) return step
    const edge = this.withoutMetGuards(given, node)
    if (edge.guards.some(({ condition }) => this.tested.holds(condition, node))) return step
    if (isFresh && this.holdsAny(edge.notNexts, node)) return step
    if (edge.to === undefined && !isEnd(edge)) {
      step.takes = true
      return step
    }
    step.takes = edge.to !== undefined && this.tested.holds(edge.to.condition, node)
    const isOver =
      edge.contiguity === 'next' ||
      (edge.contiguity === 'followedBy' && step.takes) ||
      this.holdsAny(edge.nots, node)
    step.stays = isOver ? -1 : edge.number
    return step
  }

  /** The edge without guards whose loop ends with this record. */
  private withoutMetGuards(given: Edge, node: MatchNode<T> | undefined): Edge {
    const { edges } = node?.position ?? this.automaton.start
    let edge = given
    for (let place = edge.guards.length - 1; place >= 0; place--) {
      const { until } = edge.guards[place]!
      if (until === undefined || !this.tested.holds(until, node)) continue
      edge = edges[edge.lifted[place]!]!
    }
    return edge
  }

  private holdsAny(conditions: readonly number[], node: MatchNode<T> | undefined): boolean {
    for (const condition of conditions) if (this.tested.holds(condition, node)) return true
    return false
  }

  /** Keeps the limit of partial matches, and of matches that wait for them. */
  private limit(matches: KeyMatches<T>): void {
    const { maxPartialMatches, whenFull } = this.options
    const { partial, complete } = matches
    const tooMany = partial.length + complete.length - maxPartialMatches
    if (tooMany <= 0) return
    if (whenFull === 'fail') throw tooManyPartialMatches(maxPartialMatches)
    matches.partial = partial.slice(tooMany)
    this.receiver.dropped(partial.length - matches.partial.length)
    this.complete.release(matches)
  }

  private endOf({ node }: PartialMatch<T>, withinMs: number): number {
    return Math.min(node.first.time + withinMs, MAX_TIMESTAMP)
  }
}

function isSame<V>(a: readonly V[], b: readonly V[]): boolean {
  return a.length === b.length && a.every((value, place) => value === b[place])
}

/** Whether a match ends on this edge when its time is over. */
function isEnd(edge: Edge): boolean {
  return edge.to === undefined && edge.nots.length > 0
}

function tooManyPartialMatches(most: number): WeirError {
  return new WeirError(
    'TOO_MANY_PARTIAL_MATCHES',
    `a key has more than ${most} partial matches of a pattern: give the pattern a shorter within(ms), narrower conditions, or followedBy in place of followedByAny and allowCombinations; or raise maxPartialMatches, or set whenFull: 'drop-oldest'`,
    { details: { limit: most } },
  )
}
