import type { TrainedWith } from '../../models/linear/trained-with.ts'
import type { SeenOffset } from './delta-deduplicator.ts'
import type { ResumeOffset } from './resume-offsets.ts'

/** What the coordinator knows of a version that is learned on. */
export interface LearnableVersion {
  readonly version: number
  /** Where the version resumes in the observations; undefined where that is not known. */
  readonly resumeOffsets?: readonly ResumeOffset[] | undefined
  /** Deltas that the version's rows in the model topic include. */
  readonly folded?: readonly SeenOffset[] | undefined
  /**
   * By partition of the deltas topic, its end before this job learns on the version; undefined where deltas are never sums, so
   * that the first one of each observation counts.
   */
  readonly deltaEnds?: readonly number[] | undefined
  /**
   * By partition of the observations, the first offset that the version had not learned in the checkpoint or savepoint that the
   * job was started from; undefined for a version that it did not have.
   */
  readonly restoredNext?: readonly number[] | undefined
  /** What a linear version was trained with. */
  readonly trainedWith?: TrainedWith
}

/** A version and its phase of learning (`LearningPhase`). */
export type VersionPhase = readonly [version: number, phase: number]

/** From a gate to the coordinator: the gate is open and takes no input yet. */
export interface GateReport {
  readonly kind: 'gate-opened'
}

/** From the coordinator to the gates: observations and deltas may be taken. */
export interface GateOrder {
  readonly kind: 'let-through'
  /** The version that observations are learned on from here on. */
  readonly version: number
  /** Where that version resumes; empty where that is not known. */
  readonly resumeOffsets: readonly ResumeOffset[]
  /** Deltas that the version's rows in the model topic include. @default none */
  readonly folded?: readonly SeenOffset[]
  /** As in `LearnableVersion`. @default deltas are never sums */
  readonly deltaEnds?: readonly number[]
  /** As in `LearnableVersion`. */
  readonly restoredNext?: readonly number[]
  /** What a linear version was trained with. */
  readonly trainedWith?: TrainedWith
  /** Versions whose deltas every learner can fold. */
  readonly known: readonly number[]
  /** Phases of learning (`LearningPhase`) of those that were stopped. @default none was */
  readonly phases?: readonly VersionPhase[]
  /** Count of the attempt's observations in flight (`InFlightLimit`). */
  readonly inFlight: SharedArrayBuffer
}

/** The phase of learning of a version in an order. */
export function phaseIn({ phases = [] }: GateOrder, version: number): number {
  return phases.find(([number]) => number === version)?.[1] ?? 0
}

/** From a learner to the coordinator. `C`: the constants of a version, the same in every slot. */
export type LearnerReport<C> =
  /** The learner is open; `known`: versions of its checkpoint, whose deltas it can fold. */
  | {
      readonly kind: 'opened'
      readonly known: readonly number[]
      /** The rule of the checkpoint, if it is another one: what it kept beside the rows was dropped. */
      readonly droppedMemoryOf?: string
      /** Phases of learning of the checkpoint. @default each version is in its first */
      readonly phases?: readonly VersionPhase[]
    }
  /** The slot's part of a version's constants; `kept`: the constants that learning began with before. */
  | {
      readonly kind: 'measured'
      readonly version: number
      readonly kept: boolean
      readonly constants: C
    }
  /** The learner can fold deltas of the version. */
  | { readonly kind: 'begun'; readonly version: number }
  | WorseReport

/** To the coordinator: predictions are certainly worse than those of the version without learning. */
export interface WorseReport {
  readonly kind: 'worse'
  readonly version: number
  /** The phase of learning that this was found in. */
  readonly phase: number
  /** Mean loss of the newest predictions of the slot, of ratings the squared error, and of those without learning. */
  readonly loss: number
  readonly frozenLoss: number
}

/** From the coordinator to the learners. `M`: metadata of a version. */
export type LearnerOrder<M, C> =
  /** Measure the rows of the version. */
  | { readonly kind: 'measure'; readonly metadata: M }
  /** Deltas of the version may come. */
  | {
      readonly kind: 'begin'
      readonly metadata: M
      readonly constants: C
      readonly inFlight: SharedArrayBuffer
      /** The phase of learning that begins, if it does. @default the first */
      readonly phase?: number
    }
