import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import type { RetrainOutcome } from '../../jobs/retrain/options.ts'
import { RetrainProcess } from '../../jobs/retrain/process.ts'
import { retrain } from '../../jobs/retrain/retrain.ts'
import type { GoldenSummary } from '../../kinds/port/measured-errors.ts'
import { offsetsIn } from '../../models/observations/topic-ranges.ts'
import { topicsPlaceOf } from '../flags/kafka.ts'
import { LOOP_RULE } from './serving.ts'
import { errorsOnLive, type LoopFigures, type LoopStages } from './stages.ts'
import { count } from './text.ts'
import { trainingOf } from './training.ts'

/** Batches after the detection of the drift that the candidate is trained on. */
const BATCHES_TO_TRAIN = 14
/** Batches that are kept for the promoted version. */
const BATCHES_AFTER = 2
const TRICKLE_MS = 200

/** Trains a candidate on the ratings since the drift, checks it, and promotes it if it is better. */
export async function retrainCandidate(stages: LoopStages): Promise<RetrainOutcome> {
  const { feeder, figures, pause, report, stream } = stages
  const detectedAfter = figures.driftDetectedAfter ?? 0
  const reserve = BATCHES_AFTER * stream.batch
  const wanted = detectedAfter + BATCHES_TO_TRAIN * stream.batch
  while (feeder.drifted.fed < wanted && feeder.drifted.left > reserve) {
    await feeder.next(Math.min(stream.batch, feeder.drifted.left - reserve))
    await pause(0)
  }
  const newest = feeder.drifted.fed - detectedAfter
  const live = await errorsOnLive(stages, [])
  report(
    'retrain',
    `training a candidate on the latest ${count(newest)} ratings in a separate process (live model on the same ratings: RMSE ${live.learned.toFixed(4)})`,
  )
  const startMs = systemClock.monotonicMs()
  const outcome = await trainWhileFeeding(stages, newest, reserve)
  figures.retrainSeconds = (systemClock.monotonicMs() - startMs) / 1000
  recordOutcome(figures, outcome)
  report('', outcomeText(outcome))
  return outcome
}

/** Trains while further ratings arrive. */
async function trainWhileFeeding(
  stages: LoopStages,
  newest: number,
  reserve: number,
): Promise<RetrainOutcome> {
  const { feeder, pause, stream } = stages
  let isTrained = false
  const training = train(stages, newest).finally(() => {
    isTrained = true
  })
  const trickle = Math.ceil(stream.batch / 15)
  const feeding = async (): Promise<void> => {
    while (!isTrained && feeder.drifted.left > reserve) {
      await feeder.next(Math.min(trickle, feeder.drifted.left - reserve))
      await pause(TRICKLE_MS)
    }
  }
  const [outcome] = await Promise.allSettled([training, feeding()])
  if (outcome.status === 'rejected') throw outcome.reason
  await pause(0)
  return outcome.value
}

function train(stages: LoopStages, newest: number): Promise<RetrainOutcome> {
  const { flags, data, registry, client, stream, interrupted } = stages
  return retrain({
    place: topicsPlaceOf(flags),
    registry,
    model: flags.string('topic'),
    observations: flags.string('observations'),
    als: trainingOf(flags),
    rule: LOOP_RULE,
    reader: client,
    golden: { ratings: stream.golden, subject: 'quickstart: ratings after the drift' },
    // The machine may be busy with other work, and the simulated drift turns lists and ratings over.
    limits: {
      data: { maxRatingShift: 1, maxGoldenShift: 1 },
      quality: { minOverlap: 0, maxItemRise: 1, maxMovedError: 1 },
      serving: { maxP99Ms: 2000 },
    },
    temporary: join(data.root, 'retraining'),
    newest,
    start: () => {
      const process = new RetrainProcess()
      interrupted.addEventListener('abort', () => void process[Symbol.asyncDispose]())
      return process
    },
    newId: randomUUID,
    clock: systemClock,
  })
}

function recordOutcome(figures: LoopFigures, outcome: RetrainOutcome): void {
  if (outcome.kind === 'nothing-to-train-on') return
  const { ranges, replayed } = outcome.version.lineage
  figures.trainedOn = offsetsIn(ranges)
  figures.replayed = offsetsIn(replayed ?? [])
  if (outcome.kind !== 'promoted' && outcome.kind !== 'refused') return
  figures.candidateRmse = rmseOf(outcome.checks.candidate) ?? null
  figures.candidateLiveRmse = rmseOf(outcome.checks.live) ?? null
}

function rmseOf(summary: GoldenSummary | undefined): number | undefined {
  return summary === undefined ? undefined : Math.sqrt(summary.mean)
}

function outcomeText(outcome: RetrainOutcome): string {
  switch (outcome.kind) {
    case 'promoted':
    case 'refused': {
      const { version, checks } = outcome
      const passed = version.checks.filter(({ passed: isPassed }) => isPassed)
      const [candidate, live] = [rmseOf(checks.candidate), rmseOf(checks.live)]
      const errors =
        candidate === undefined || live === undefined
          ? ''
          : `; RMSE on ratings that neither was trained on: candidate ${candidate.toFixed(4)}, live ${live.toFixed(4)}`
      return `${passed.length} of ${version.checks.length} checks passed (${version.checks.map(({ check }) => check).join(', ')})${errors}`
    }
    case 'exists':
      return `version ${outcome.version.number} was already trained on the same observations`
    case 'candidate':
      return `version ${outcome.version.number} was not checked`
    case 'nothing-to-train-on':
      return 'there are no observations to train on'
  }
}
