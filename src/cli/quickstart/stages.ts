import type { WeirClient } from '../../client/weir-client.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { DataDirectory } from '../../jobs/serve/data-directory.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import type { ErrorPair, FrozenModel, LearnedErrors } from './errors.ts'
import type { LoopStream, StreamFeeder } from './stream.ts'
import type { Report } from './text.ts'
import type { BackgroundTraffic } from './traffic.ts'

/** Figures of the loop; null if a stage was left out or had no result. */
export interface LoopFigures {
  /** RMSE of the first and of the last ratings while learning, and of the frozen model on the last. */
  learnRmseBefore: number | null
  learnRmseAfter: number | null
  frozenRmse: number | null
  /** Ratings from the drift until the detector fired, and the RMSE of the last of them. */
  driftDetectedAfter: number | null
  driftRmse: number | null
  driftFrozenRmse: number | null
  retrainSeconds: number | null
  trainedOn: number | null
  replayed: number | null
  candidateRmse: number | null
  candidateLiveRmse: number | null
  promotedVersion: number | null
  promotedRmse: number | null
  rolledBackTo: number | null
  rollbackMs: number | null
  /** The version that is live at the end. */
  liveVersion: number
  requests: number
  failedRequests: number
}

/** The flags, folders and topics of a run of the quickstart. */
export interface QuickstartParts {
  readonly flags: Flags
  readonly io: CommandIo
  readonly report: Report
  readonly data: DataDirectory
  readonly topics: TopicStore
  readonly registry: ModelRegistry
}

/** Parts and figures that the stages of one run of the loop share. */
export interface LoopStages extends QuickstartParts {
  readonly client: WeirClient
  readonly traffic: BackgroundTraffic
  readonly feeder: StreamFeeder
  readonly stream: LoopStream
  readonly errors: LearnedErrors
  readonly frozen: FrozenModel
  /** The version that is live when the loop starts. */
  readonly live: number
  /** The version on which ratings are learned now. */
  readonly learningOn: () => number
  readonly figures: LoopFigures
  /** Waits; throws InterruptedError after Ctrl-C. */
  readonly pause: (ms: number) => Promise<void>
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** Waits until all fed ratings are learned on the version that was live at the start. */
export async function untilLearned({ errors, feeder, live }: LoopStages): Promise<void> {
  await errors.until(live, feeder.fed)
}

/** Errors on the ratings that were just fed, when they are learned. */
export async function errorsOnLive(stages: LoopStages, fed: readonly Rating[]): Promise<ErrorPair> {
  await untilLearned(stages)
  return await errorsOf(stages, stages.live, fed)
}

/** Errors on the ratings that a version has learned since the last call for it. */
export async function errorsOf(
  { errors, frozen, pause }: LoopStages,
  version: number,
  fed: readonly Rating[],
): Promise<ErrorPair> {
  await pause(0)
  const { ratings, sum } = await errors.since(version)
  return {
    learned: Math.sqrt(sum / ratings),
    frozen: Math.sqrt(frozen.squaredError(fed) / fed.length),
  }
}
