import type { Position } from './automaton.ts'
import type { RecordsByStage } from './term.ts'

/** A record that matches refer to. Those that hold the same one share it. */
export class MatchedEvent<T> {
  /** Number among the records of its key that were kept, in their order. */
  readonly id: number
  /** Event time, ms. */
  readonly time: number
  private record: T | undefined
  private read: (() => T) | undefined

  /** `read`: reads the record from state, where it is not there yet. */
  constructor(id: number, time: number, record: T | undefined, read?: () => T) {
    this.id = id
    this.time = time
    this.record = record
    this.read = read
  }

  get value(): T {
    const { read } = this
    if (read !== undefined) {
      this.record = read()
      this.read = undefined
    }
    return this.record as T
  }
}

/**
 * A record that a position took, and the records before it: a node of the shared buffer (J. Agrawal and others, "Efficient
 * pattern matching over event streams", SIGMOD 2008). Each has one node before it, so that matches that begin alike share
 * the nodes of their beginning, and no versions are needed to tell them apart.
 */
export class MatchNode<T> {
  readonly position: Position
  readonly event: MatchedEvent<T>
  readonly previous: MatchNode<T> | undefined
  /** The first record of the match. */
  readonly first: MatchedEvent<T>
  /** The number of its records. */
  readonly length: number

  constructor(position: Position, event: MatchedEvent<T>, previous: MatchNode<T> | undefined) {
    this.position = position
    this.event = event
    this.previous = previous
    this.first = previous?.first ?? event
    this.length = (previous?.length ?? 0) + 1
  }
}

/** A match that can still grow. */
export interface PartialMatch<T> {
  readonly node: MatchNode<T>
  /** The numbers of the edges of its position on which it waits; at least one. */
  readonly open: readonly number[]
  /** Whether no record of the key came after its last one. */
  readonly isFresh: boolean
  /** Whether it was a match, too. */
  readonly isWhole: boolean
}

/** A match that is complete, and waits for partial matches that started before it. */
export interface CompleteMatch<T> {
  readonly node: MatchNode<T>
  /** Event time of its end, ms. */
  readonly time: number
}

/** What a key has of a pattern, in the order of the first records. */
export interface KeyMatches<T> {
  partial: readonly PartialMatch<T>[]
  complete: readonly CompleteMatch<T>[]
  /** The id of the next record. */
  nextId: number
  /** Event time of the timer that is set for the first partial match that times out; undefined where none is. */
  timer: number | undefined
  /** The records in state, in the order of their ids. */
  stored: readonly MatchedEvent<T>[]
}

/** The records of one stage of a match up to a node, in their order. */
export function recordsOfStage<T>(last: MatchNode<T> | undefined, stage: string): readonly T[] {
  const records: T[] = []
  for (let node = last; node !== undefined; node = node.previous) {
    if (node.position.stage === stage) records.push(node.event.value)
  }
  return records.reverse()
}

/** The records of each stage of a match up to a node. */
export function recordsByStage<T>(
  last: MatchNode<T>,
  stages: readonly string[],
): RecordsByStage<T> {
  const lists = new Map<string, T[]>(stages.map((stage) => [stage, []]))
  for (let node: MatchNode<T> | undefined = last; node !== undefined; node = node.previous) {
    lists.get(node.position.stage)!.push(node.event.value)
  }
  for (const list of lists.values()) list.reverse()
  return Object.fromEntries(lists)
}
