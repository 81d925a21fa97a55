import type { RecordView } from '../../connectors/records/topic-record.ts'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { originOfDelta } from '../../models/als/online/model-delta.ts'
import type { Person, PersonsRow } from './person.ts'

/** Offsets by partition. */
export type Offsets = ReadonlyMap<number, readonly number[]>

/** A row of a person, with its place. */
export interface PlacedRow extends PersonsRow {
  readonly partition: number
  readonly offset: number
}

/** Visits all records of a topic; as they are stored where that can be seen, else the committed ones. */
export async function visitTopic(
  topics: TopicStore,
  topic: string,
  visit: (record: RecordView, partition: number) => void,
): Promise<void> {
  if (topics.stored !== undefined) return await topics.stored.visit(topic, { record: visit })
  await scanTopic(topics, topic, (record, partition) => {
    visit(record, partition)
    return true
  })
}

/** What a topic of ratings has of a person. */
export interface PersonsRatings {
  readonly ratings: Offsets
  /** Records that forget the person, with the id alone. */
  readonly tombstones: Offsets
}

/** Offsets of the records of a person in a topic of ratings. */
export async function ratingsOf(
  topics: TopicStore,
  topic: string,
  person: Person,
): Promise<PersonsRatings> {
  const [ratings, tombstones] = [new OffsetLists(), new OffsetLists()]
  await visitTopic(topics, topic, (record, partition) => {
    if (person.hasRated(record)) ratings.add(partition, record.offset)
    else if (person.isForgottenIn(record)) tombstones.add(partition, record.offset)
  })
  return { ratings: ratings.lists, tombstones: tombstones.lists }
}

/** The records of a model topic that are rows of a person, or tombstones of them, in the order of the topic. */
export async function rowsOf(
  topics: TopicStore,
  topic: string,
  person: Person,
): Promise<readonly PlacedRow[]> {
  const found: PlacedRow[] = []
  await visitTopic(topics, topic, (record, partition) => {
    const row = person.rowIn(record)
    if (row !== undefined) found.push({ ...row, partition, offset: record.offset })
  })
  return found
}

/**
 * Offsets of the deltas whose rating was erased from the observations, of any user: so this is found again after a crash
 * between the two. Nothing where the topic of observations is compacted, or its records cannot be seen one by one.
 */
export async function deltasOfErased(
  topics: TopicStore,
  { deltas, observations }: { readonly deltas: string; readonly observations: string },
): Promise<Offsets> {
  const found = new OffsetLists()
  const { stored } = topics
  if (stored === undefined || !(await topics.has(observations))) return found.lists
  if ((await topics.describe(observations)).cleanupPolicy !== 'delete') return found.lists
  const erased = new Map<number, Set<number>>()
  await stored.visit(observations, {
    erased(partition, offset) {
      const offsets = erased.get(partition) ?? new Set()
      erased.set(partition, offsets.add(offset))
    },
  })
  if (erased.size === 0) return found.lists
  await stored.visit(deltas, {
    record(record, partition) {
      const { bytes, valueStart, valueLength } = record
      const origin = originOfDelta(bytes, valueStart, valueLength)
      if (origin !== undefined && erased.get(origin.partition)?.has(origin.offset) === true) {
        found.add(partition, record.offset)
      }
    },
  })
  return found.lists
}

/** Number of offsets of all partitions. */
export function countOf(offsets: Offsets): number {
  return [...offsets.values()].reduce((sum, some) => sum + some.length, 0)
}

/** Collects offsets by partition. */
export class OffsetLists {
  readonly lists = new Map<number, number[]>()

  add(partition: number, offset: number): void {
    const known = this.lists.get(partition)
    if (known === undefined) this.lists.set(partition, [offset])
    else known.push(offset)
  }
}
