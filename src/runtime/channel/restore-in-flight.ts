import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../core/key-group.ts'
import type { StreamEdge } from '../../dataflow/stream-graph.ts'
import { decodeInFlight, type InFlightRecord, type InFlightRecords } from './in-flight-format.ts'
import type { InputChannel } from './input.ts'
import { type BatchMessage, RESTORED } from './message.ts'
import { OutputChannel } from './output.ts'

/** The subtask that takes its part of overtaken records. */
export interface RestoringSubtask {
  readonly index: number
  readonly parallelism: number
  readonly maxParallelism: number
  /** Bytes of a batch. */
  readonly batchBytes: number
  /** Takes a warning about dropped records of an edge that the subtask does not have; undefined: they are refused. */
  readonly dropLost: ((warning: WeirError) => void) | undefined
}

const NO_KEY = new Uint8Array(0)

/** An edge into a subtask, and a channel of it that takes restored records. */
export interface RestoredEdge {
  /** See `PlannedEdge.name`. */
  readonly name: string
  readonly edge: StreamEdge
  readonly channel: InputChannel
}

/**
 * Puts the overtaken records that belong to a subtask in front of all its input. Throws STATE_LEFT_OVER for records
 * of an edge that the subtask does not have, and as `restoredBatches`.
 */
export function restoreInFlight(
  entries: readonly Uint8Array[],
  edges: readonly RestoredEdge[],
  subtask: RestoringSubtask,
): void {
  const stored = entries.map(decodeInFlight)
  for (const name of new Set(stored.map((records) => records.edge))) {
    const found = edges.find((edge) => edge.name === name)
    const ofEdge = stored.filter((records) => records.edge === name)
    if (found === undefined) {
      if (subtask.dropLost === undefined) throw lostEdge(name)
      subtask.dropLost(droppedRecords(name, ofEdge))
      continue
    }
    for (const batch of restoredBatches(ofEdge, found.edge, subtask)) found.channel.push(batch)
  }
}

/** The error for records in flight on an edge that has no channels any more. */
export function lostEdge(name: string): WeirError {
  return new WeirError(
    'STATE_LEFT_OVER',
    `the checkpoint holds records in flight of ${name}, which has no channels in this job; restore with the job and the parallelism as they were and change them with a savepoint, or allow non-restored state (--allow-non-restored-state), which drops the records`,
  )
}

/** The warning that records in flight to an operator were dropped, because their edge has no channels any more. */
export function droppedRecords(name: string, stored: readonly InFlightRecords[]): WeirError {
  const count = stored.reduce((sum, { records }) => sum + records.length, 0)
  return new WeirError(
    'STATE_LEFT_OVER',
    `dropped ${count} records in flight of ${name}, which has no channels in this job: they are in no checkpoint from now on`,
  )
}

/**
 * The overtaken records of one edge that belong to a subtask, as batches. Records with a key go to the owner of
 * their key group; others are divided among the subtasks. Throws STATE_CONFLICT when the edge has another
 * serializer or needs a key that the records do not have.
 */
export function restoredBatches(
  stored: readonly InFlightRecords[],
  edge: StreamEdge,
  subtask: RestoringSubtask,
): BatchMessage[] {
  const receiverOf = receiverFunction(edge, subtask)
  const batches: BatchMessage[] = []
  const add = appender(subtask.batchBytes, batches)
  let number = 0
  for (const { serializer, records, edge: name } of stored) {
    if (serializer !== edge.serializer.id) {
      throw conflict(name, `were written by ${serializer} and the edge has ${edge.serializer.id}`)
    }
    for (const record of records) {
      const receiver = receiverOf(record, number++)
      if (receiver === undefined) throw conflict(name, 'have no key, and the edge is keyed now')
      if (receiver === subtask.index) add.append(record)
    }
  }
  add.end()
  return batches
}

/** The subtask that gets a record; undefined when only a key could say so. */
function receiverFunction(
  { partitioning, serializer }: StreamEdge,
  { index, parallelism, maxParallelism }: RestoringSubtask,
): (record: InFlightRecord, number: number) => number | undefined {
  switch (partitioning.kind) {
    case 'hash':
      return ({ key }) => {
        if (key === undefined) return undefined
        const group = keyGroupOf(key, maxParallelism)
        return subtaskOfKeyGroup(group, parallelism, maxParallelism)
      }
    case 'custom':
      return ({ value }) =>
        partitioning.partition(serializer.read(new ByteReader(value)), parallelism)
    case 'global':
      return () => 0
    case 'broadcast':
      return () => index
    default:
      return (_, number) => number % parallelism
  }
}

/** Makes batches as a sender makes them, which wait for nothing. */
function appender(
  batchBytes: number,
  batches: BatchMessage[],
): { append(record: InFlightRecord): void; end(): void } {
  const position = { partition: -1, offset: 0, source: 0 }
  const channel = new OutputChannel({
    id: RESTORED,
    owner: { blockedChannels: 0, currentPosition: position, bytesOut: 0, recordsEmitted: 0 },
    send: (message) => void batches.push(message as BatchMessage),
    batchBytes,
    credits: Number.POSITIVE_INFINITY,
  })
  return {
    append({ key, value, timestamp, position: from }) {
      Object.assign(position, from)
      channel.append(key ?? NO_KEY, key?.length ?? -1, value, value.length, timestamp)
    },
    end: () => channel.flush(),
  }
}

function conflict(edge: string, what: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `the checkpoint holds records in flight on the edge ${edge} that ${what}; restore with the job as it was, and change it with a savepoint`,
  )
}
