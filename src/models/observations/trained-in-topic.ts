import type { TopicStore } from '../../connectors/topics/store.ts'
import {
  addedDigests,
  areSameObservations,
  type ObservationsDigest,
  ObservationsDigester,
} from '../registry/ranges/observations-digest.ts'
import type { ObservationForm } from './compared-records.ts'
import { readExamples } from './examples.ts'
import { rangesOfTopic, readObservations } from './topic-ranges.ts'

/** What a training read, wherever that was. */
export interface TrainedObservations extends ObservationForm {
  readonly digest: ObservationsDigest
  /** Time of the newest one, ms since 1970; -1 if it is not known. */
  readonly newestEventMs: number
}

/** Whether a topic has what a training read. */
export type TrainedInTopic =
  /** Its first `count` observations are those of the training. `next`: by partition, the first offset after them. */
  | { readonly kind: 'first'; readonly count: number; readonly next: ReadonlyMap<number, number> }
  /** They are not. `newer`: how many of its `count` observations are newer than the newest of the training. */
  | { readonly kind: 'not-first'; readonly count: number; readonly newer: number }

/**
 * Compares the first observations of a topic with those of a training, by number and digest. In a topic of several
 * partitions the first ones are those whose records are the oldest. The topic is read whole; memory: 50 bytes for each
 * millisecond in which records were appended.
 */
export async function trainedInTopic(
  topics: TopicStore,
  topic: string,
  trained: TrainedObservations,
): Promise<TrainedInTopic> {
  const ranges = await rangesOfTopic(topics, topic)
  const partitions = new Map(
    ranges.map(({ partition, from }) => [
      partition,
      new PartitionStart(partition, from, trained.digest.count),
    ]),
  )
  const all = { count: 0, newer: 0 }
  const add = (placed: Placed, addTo: (digester: ObservationsDigester) => void): void => {
    all.count++
    if (trained.newestEventMs >= 0 && placed.timestamp > trained.newestEventMs) all.newer++
    partitions.get(placed.partition)?.add(placed, addTo)
  }
  if (trained.kind === 'ratings') {
    for await (const piece of readObservations(topics, ranges)) {
      for (const each of piece) {
        add(each, (digester) => digester.addRating(each.user, each.item, each.rating))
      }
    }
  } else {
    for await (const piece of readExamples(topics, ranges, undefined, trained.hashing)) {
      for (const each of piece) {
        const placed = { ...each, appendedMs: each.timestamp }
        add(placed, (digester) => digester.addExample(each.label, each.ids, each.values))
      }
    }
  }
  const next = firstOf([...partitions.values()], trained.digest)
  if (next === undefined) return { kind: 'not-first', ...all }
  return { kind: 'first', count: trained.digest.count, next }
}

/** Place and times of an observation. */
interface Placed {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly appendedMs: number
}

/** Observations that follow each other in a partition and were appended at one time. */
interface Run {
  readonly partition: number
  readonly ms: number
  readonly digester: ObservationsDigester
  /** The first offset after them. */
  next: number
}

/** The first observations of a partition, at most as many as a training read. */
class PartitionStart {
  readonly runs: Run[] = []
  readonly partition: number
  readonly from: number
  /** All of them, as one digest. */
  readonly whole = new ObservationsDigester()
  /** The first offset after them. */
  next: number
  private readonly most: number

  constructor(partition: number, from: number, most: number) {
    this.partition = partition
    this.from = from
    this.next = from
    this.most = most
  }

  add({ offset, appendedMs }: Placed, addTo: (digester: ObservationsDigester) => void): void {
    if (this.whole.count >= this.most) return
    let run = this.runs.at(-1)
    // A clock that was set back does not change the order of the records.
    if (run === undefined || run.ms < appendedMs) {
      run = {
        partition: this.partition,
        ms: appendedMs,
        digester: new ObservationsDigester(),
        next: offset,
      }
      this.runs.push(run)
    }
    addTo(run.digester)
    addTo(this.whole)
    run.next = offset + 1
    this.next = offset + 1
  }
}

/** Where the partitions go on after the first observations, if these are those of the digest. */
function firstOf(
  partitions: readonly PartitionStart[],
  trained: ObservationsDigest,
): ReadonlyMap<number, number> | undefined {
  const next = new Map(partitions.map(({ partition, from }) => [partition, from]))
  const filled = partitions.filter(({ runs }) => runs.length > 0)
  const [only] = filled
  if (only !== undefined && filled.length === 1) {
    const isFirst = areSameObservations(only.whole.digest, trained) === true
    return isFirst ? next.set(only.partition, only.next) : undefined
  }
  let sum = new ObservationsDigester().digest
  for (const run of filled.flatMap(({ runs }) => runs).sort((a, b) => a.ms - b.ms)) {
    sum = addedDigests(sum, run.digester.digest)
    next.set(run.partition, run.next)
    if (sum.count >= trained.count) break
  }
  return areSameObservations(sum, trained) === true ? next : undefined
}
