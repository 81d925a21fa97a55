import type {
  CheckpointManifest,
  OperatorManifest,
} from '../../../runtime/checkpoint/protocol/checkpoint-types.ts'
import { decodeSplit, SPLITS } from '../../../runtime/source/split-state.ts'
import type { SeenOffset } from '../delta-deduplicator.ts'
import { LEARNING_PLACES } from '../observations-gate.ts'
import { learnedOffsets, learnedVersions } from '../resume-offsets.ts'
import type { LearnedModel } from './learned-model.ts'

/** Uid of the source of observations in the jobs that learn. */
const OBSERVATIONS_SOURCE = 'observations'

/** Uid of the source of deltas in the jobs that learn. */
const DELTAS_SOURCE = 'deltas-topic'

/** What a checkpoint says of the versions that were learned on. */
export interface LearnedFacts {
  /** Versions that observations were learned on, ascending. */
  readonly versions: readonly number[]
  /** By partition of the observations, the first offset that a version has not learned; -1 for none. */
  next(version: number): readonly number[]
  /** By partition of the deltas topic, the first offset that is not folded; -1 for none. */
  readonly deltas: readonly number[]
  /** The highest offsets of a version's deltas that are folded. */
  folded(version: number): readonly SeenOffset[]
}

/** Reads from a checkpoint's manifest how far each version has learned. */
export function learnedFacts(manifest: CheckpointManifest, model: LearnedModel): LearnedFacts {
  const entries = (uid: string, state: string): Uint8Array[] =>
    entriesOf(
      manifest.operators.find((operator) => operator.uid === uid),
      state,
    )
  const positions = (uid: string): Map<number, number> =>
    new Map(
      entries(uid, SPLITS)
        .map(decodeSplit)
        .map(({ partition, nextOffset }) => [partition, nextOffset]),
    )
  const places = entries(model.observationsGate, LEARNING_PLACES)
  const nextOf = learnedOffsets(places, positions(OBSERVATIONS_SOURCE))
  const seen = entries(model.deltasGate, model.seenState).flatMap((entry) => [
    ...model.decodeSeen(entry),
  ])
  return {
    versions: learnedVersions(places),
    deltas: byPartition(positions(DELTAS_SOURCE)),
    next: (version) => byPartition(nextOf(version)),
    folded: (version) => seen.filter((each) => each.version === version),
  }
}

function entriesOf(operator: OperatorManifest | undefined, state: string): Uint8Array[] {
  return (operator?.operatorState ?? [])
    .flat()
    .filter(({ name }) => name === state)
    .flatMap(({ entries }) => entries)
}

function byPartition(offsets: ReadonlyMap<number, number>): number[] {
  const last = Math.max(-1, ...offsets.keys())
  return Array.from({ length: last + 1 }, (_, partition) => offsets.get(partition) ?? -1)
}
