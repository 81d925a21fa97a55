import { writeFileSync } from 'node:fs'
import { WeirClient } from '../../client/weir-client.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import type { QueryAccessOptions } from '../../jobs/query-access.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import { readyVersions } from '../../models/versions/model-versions.ts'
import { type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'
import { InterruptedError } from '../command/command.ts'
import { ownClientOptions } from '../flags/listener.ts'
import { FrozenModel, LearnedErrors } from './errors.ts'
import { learnAndDetectDrift } from './learning-stage.ts'
import { driftedTestFile, textOf } from './ratings.ts'
import { retrainCandidate } from './retraining-stage.ts'
import type { LoopFigures, LoopStages, QuickstartParts } from './stages.ts'
import { type LoopStream, StreamFeeder } from './stream.ts'
import { followPromotion, rollBackAndForward } from './switching-stage.ts'
import { BackgroundTraffic } from './traffic.ts'
import { fingerprintOf, type QuickstartVersion, retrainedSince } from './version.ts'

/** Options of `runLoop`. */
export interface LoopOptions extends QuickstartParts {
  readonly job: ServedJob
  readonly access: QueryAccessOptions
  /** The version on which ratings are learned now. */
  readonly learningOn: () => number
  readonly train: RatingsTable
  readonly base: QuickstartVersion
  /** The version that is live now. */
  readonly live: number
  readonly stream: () => LoopStream
}

/** Result of the loop in the output of `--json`. */
export type LoopResult =
  | ({ readonly ran: true } & LoopFigures)
  /** An earlier start has run the loop. */
  | { readonly ran: false; readonly liveVersion: number }

/** Largest number of pairs that the background traffic predicts. */
const PAIRS = 500

/**
 * Runs the loop, unless an earlier start did: learning, a drift, a retraining, a promotion and a
 * rollback. Throws InterruptedError after Ctrl-C; the next start continues with the stream.
 */
export async function runLoop(options: LoopOptions): Promise<LoopResult> {
  const { flags, topics, registry, base, live, report } = options
  const topic = flags.string('topic')
  const observations = flags.string('observations')
  const state = await registry.adopt(topic, await readyVersions(topics, topic))
  const earlier = retrainedSince(state, topic, { base: base.version, observations })
  if (earlier !== undefined) {
    report(
      'loop',
      `not needed: an earlier start retrained version ${earlier}; version ${live} is live and learns from topic ${observations}`,
    )
    report('', 'the held-out ratings predate the drift, so a higher error is expected')
    return { ran: false, liveVersion: live }
  }
  const stream = options.stream()
  const range = ratingStatistics(options.train)
  const frozen = await FrozenModel.read(topics, topic, { version: base.version, range })
  const feed = fingerprintOf(options.train, { stream: flags.string('loop-ratings') })
  const feeder = await StreamFeeder.open({ stream, topics, topic: observations, feed })
  await using client = await clientOf(options)
  await using traffic = new BackgroundTraffic(client, pairsOf(options.train))
  const figures = await runStages(options, { client, traffic, feeder, stream, frozen })
  writeFileSync(driftedTestFile(flags), textOf(stream.golden))
  return { ran: true, ...figures }
}

type LoopParts = Pick<LoopStages, 'client' | 'traffic' | 'feeder' | 'stream' | 'frozen'>

async function runStages(options: LoopOptions, parts: LoopParts): Promise<LoopFigures> {
  const interruption = new AbortController()
  void options.io.interrupted.then(() => interruption.abort())
  const { signal } = interruption
  const pause = async (ms: number): Promise<void> => {
    if (!signal.aborted) await sleep(systemClock, ms)
    if (signal.aborted) throw new InterruptedError('interrupted')
  }
  const errors = new LearnedErrors(parts.client, pause)
  const figures: LoopFigures = { ...NO_FIGURES, liveVersion: options.live }
  const stages = { ...options, ...parts, errors, figures, pause, interrupted: signal }
  try {
    await learnAndDetectDrift(stages)
    const outcome = await retrainCandidate(stages)
    if (outcome.kind === 'promoted') {
      await followPromotion(stages, outcome)
      await rollBackAndForward(stages, outcome.version.number)
    }
    return { ...figures, ...parts.traffic.figures }
  } catch (error) {
    // An interrupted stage may fail with any error.
    if (signal.aborted) throw new InterruptedError('interrupted in the loop')
    throw error
  }
}

function clientOf({ access, job }: LoopOptions): Promise<WeirClient> {
  return WeirClient.connect(ownClientOptions(access, job.port))
}

/** Some pairs of the training ratings, of many users. */
function pairsOf({ users, items, user, item, size }: RatingsTable): [string, string][] {
  const stride = Math.max(1, Math.floor(size / PAIRS))
  return Array.from({ length: Math.min(PAIRS, size) }, (_, n) => [
    users[user[n * stride]!]!,
    items[item[n * stride]!]!,
  ])
}

const NO_FIGURES: Omit<LoopFigures, 'liveVersion'> = {
  learnRmseBefore: null,
  learnRmseAfter: null,
  frozenRmse: null,
  driftDetectedAfter: null,
  driftRmse: null,
  driftFrozenRmse: null,
  retrainSeconds: null,
  trainedOn: null,
  replayed: null,
  candidateRmse: null,
  candidateLiveRmse: null,
  promotedVersion: null,
  promotedRmse: null,
  rolledBackTo: null,
  rollbackMs: null,
  requests: 0,
  failedRequests: 0,
}
