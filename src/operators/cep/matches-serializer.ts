import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { EvolvingSerializer } from '../../core/serializer.ts'
import type { Automaton } from './automaton.ts'
import { type KeyMatches, MatchedEvent, MatchNode } from './partial-match.ts'

/*
 * The matches of a key; events are in a state of their own, by their id. Numbers are varuints where no other type is named.
 *
 *   | next id: int53 | has timer: uint8 | timer: int53, if it has one |
 *   | events | of each: id: int53, time: int53 |
 *   | nodes | of each: place of the node before it + 1, or 0; position; place of its event |
 *   | partial matches | of each: place of its node; flags: uint8, 1 fresh, 2 whole; open edges; of each its number |
 *   | complete matches | of each: place of its node; time: int53 |
 *
 * Events, partial and complete matches stand in their order, nodes behind the node before them.
 */

/** The format; behind it, in brackets, stands the form of the pattern, without which its numbers mean nothing. */
const FORMAT = 'pattern-matches/1'

/** Flags of a partial match. */
const FRESH = 1
const WHOLE = 2

/** The records that the matches of a key refer to, in the order of their ids. */
export function eventsOf<T>({ partial, complete }: KeyMatches<T>): readonly MatchedEvent<T>[] {
  const seen = new Set<MatchNode<T>>()
  const events = new Set<MatchedEvent<T>>()
  for (const matches of [partial, complete]) {
    for (const { node } of matches) {
      for (
        let next: MatchNode<T> | undefined = node;
        next !== undefined && !seen.has(next);
        next = next.previous
      ) {
        seen.add(next)
        events.add(next.event)
      }
    }
  }
  return [...events].sort((a, b) => a.id - b.id)
}

/** The places of nodes, each behind the one before it. */
function placesOfNodes<T>({ partial, complete }: KeyMatches<T>): Map<MatchNode<T>, number> {
  const places = new Map<MatchNode<T>, number>()
  const chain: MatchNode<T>[] = []
  for (const matches of [partial, complete]) {
    for (const { node } of matches) {
      let next: MatchNode<T> | undefined = node
      for (; next !== undefined && !places.has(next); next = next.previous) chain.push(next)
      while (chain.length > 0) places.set(chain.pop()!, places.size)
    }
  }
  return places
}

/** A serializer of the matches of a key; `eventOf` reads the record of an id from its state. */
export function matchesSerializer<T>(
  { positions, form }: Automaton<T>,
  eventOf: (id: number) => T,
): EvolvingSerializer<KeyMatches<T>> {
  return {
    id: `${FORMAT}(${form})`,
    write: writeMatches,
    read: (reader) => new MatchesReader(reader, positions, eventOf).read(),
    readerOf: (storedId) =>
      storedId.startsWith(`${FORMAT}(`)
        ? 'the stored partial matches are of another pattern: its stages, their order or how often they come have changed. Give the operator another uid, and restore with --allow-non-restored-state, to begin without them'
        : `${FORMAT} does not read ${storedId}`,
  }
}

function writeMatches<T>(matches: KeyMatches<T>, writer: ByteWriter): void {
  const { partial, complete, nextId, timer, stored } = matches
  const nodes = placesOfNodes(matches)
  const places = new Map(stored.map((event, place) => [event, place]))
  writer.int53(nextId)
  writer.uint8(timer === undefined ? 0 : 1)
  if (timer !== undefined) writer.int53(timer)
  writer.varuint(stored.length)
  for (const { id, time } of stored) {
    writer.int53(id)
    writer.int53(time)
  }
  writer.varuint(nodes.size)
  for (const { previous, position, event } of nodes.keys()) {
    writer.varuint(previous === undefined ? 0 : nodes.get(previous)! + 1)
    writer.varuint(position.index)
    writer.varuint(places.get(event)!)
  }
  writer.varuint(partial.length)
  for (const { node, open, isFresh, isWhole } of partial) {
    writer.varuint(nodes.get(node)!)
    writer.uint8((isFresh ? FRESH : 0) | (isWhole ? WHOLE : 0))
    writer.varuint(open.length)
    for (const edge of open) writer.varuint(edge)
  }
  writer.varuint(complete.length)
  for (const { node, time } of complete) {
    writer.varuint(nodes.get(node)!)
    writer.int53(time)
  }
}

/** Reads the matches of a key. Throws MALFORMED_DATA. */
class MatchesReader<T> {
  private readonly reader: ByteReader
  private readonly positions: Automaton<T>['positions']
  private readonly eventOf: (id: number) => T
  private events: readonly MatchedEvent<T>[] = []
  private readonly nodes: MatchNode<T>[] = []

  constructor(
    reader: ByteReader,
    positions: Automaton<T>['positions'],
    eventOf: (id: number) => T,
  ) {
    this.reader = reader
    this.positions = positions
    this.eventOf = eventOf
  }

  read(): KeyMatches<T> {
    const { reader } = this
    const nextId = reader.int53()
    const timer = reader.uint8() === 0 ? undefined : reader.int53()
    this.events = this.list(() => {
      const id = reader.int53()
      return new MatchedEvent<T>(id, reader.int53(), undefined, () => this.eventOf(id))
    })
    const count = reader.varuint()
    for (let i = 0; i < count; i++) this.nodes.push(this.readNode())
    const partial = this.list(() => {
      const node = this.at(this.nodes)
      const flags = reader.uint8()
      const open = this.list(() => this.at(node.position.edges).number)
      return { node, open, isFresh: (flags & FRESH) !== 0, isWhole: (flags & WHOLE) !== 0 }
    })
    const complete = this.list(() => ({ node: this.at(this.nodes), time: reader.int53() }))
    return { partial, complete, nextId, timer, stored: this.events }
  }

  private readNode(): MatchNode<T> {
    const previous = this.reader.varuint()
    const position = this.at(this.positions)
    const before = previous === 0 ? undefined : this.nodes[previous - 1]
    if (previous > 0 && before === undefined) refusePlace(previous - 1)
    return new MatchNode(position, this.at(this.events), before)
  }

  private list<V>(read: () => V): readonly V[] {
    const values: V[] = []
    for (let left = this.reader.varuint(); left > 0; left--) values.push(read())
    return values
  }

  private at<V>(values: readonly V[]): V {
    const place = this.reader.varuint()
    return values[place] ?? refusePlace(place)
  }
}

function refusePlace(place: number): never {
  throw new WeirError(
    'MALFORMED_DATA',
    `the matches of a pattern name place ${place}, which no list of them has`,
  )
}
