import { systemClock } from '../../core/clock.ts'
import type { AlarmsByDetector } from '../../models/quality/drift-monitor.ts'
import type { ErrorPair } from './errors.ts'
import { errorsOnLive, type LoopStages, untilLearned } from './stages.ts'
import { count, errorText, LiveLine } from './text.ts'

/** Largest number of batches in which the drift must be detected. */
const BATCHES_TO_DETECT = 4

/**
 * Streams the ratings before and after the drift, each learned by the job, whose detectors watch the
 * error. Continues where an earlier start was interrupted.
 */
export async function learnAndDetectDrift(stages: LoopStages): Promise<void> {
  await learn(stages)
  await detectDrift(stages)
}

async function learn(stages: LoopStages): Promise<void> {
  const { errors, feeder, figures, flags, io, live, report, stream } = stages
  await untilLearned(stages)
  await errors.since(live)
  if (feeder.calmLeft === 0) return
  report('stream', `to topic ${flags.string('observations')}: ${stream.calmText}`)
  const line = new LiveLine('learn', { io, report, each: 3 })
  let first: ErrorPair | undefined
  let last: ErrorPair = { learned: Number.NaN, frozen: Number.NaN }
  while (feeder.calmLeft > 0) {
    last = await errorsOnLive(stages, await feeder.next(stream.batch))
    first ??= last
    line.update(`${count(feeder.fed)} ratings: ${errorText(last)}`)
  }
  line.end(
    `${count(feeder.fed)} ratings, each predicted, then learned: RMSE ${first!.learned.toFixed(4)} -> ${last.learned.toFixed(4)} (without learning ${first!.frozen.toFixed(4)} -> ${last.frozen.toFixed(4)})`,
  )
  figures.learnRmseBefore = first!.learned
  figures.learnRmseAfter = last.learned
  figures.frozenRmse = last.frozen
}

async function detectDrift(stages: LoopStages): Promise<void> {
  const { errors: learned, feeder, figures, io, live, report, stream } = stages
  const before = figures.learnRmseAfter
  if (before === null || feeder.drifted.fed > 0) return
  report('drift', stream.driftText)
  const startMs = systemClock.nowMs()
  const line = new LiveLine('', { io, report, each: BATCHES_TO_DETECT })
  for (let batches = 0; batches < BATCHES_TO_DETECT && feeder.drifted.left > 0; batches++) {
    const errors = await errorsOnLive(stages, await feeder.next(stream.batch))
    const detector = raisedSince(startMs, await learned.alarms(live))
    if (detector === undefined) {
      line.update(`${count(feeder.drifted.fed)} ratings: ${errorText(errors)}`)
      continue
    }
    figures.driftDetectedAfter = feeder.drifted.fed
    figures.driftRmse = errors.learned
    figures.driftFrozenRmse = errors.frozen
    line.end(
      `${detector} detects it after ${count(feeder.drifted.fed)} ratings: RMSE ${before.toFixed(4)} -> ${errors.learned.toFixed(4)} (without learning ${errors.frozen.toFixed(4)})`,
    )
    return
  }
  line.end('the detector did not fire; the candidate is trained anyway')
}

/**
 * The detector that has raised an alarm since a time; undefined where none has. Numbers of alarms do not
 * show it: after a restart of the job they are those of the checkpoint.
 */
export function raisedSince(startMs: number, alarms: AlarmsByDetector): string | undefined {
  if (alarms['page-hinkley'].lastMs >= startMs) return 'Page-Hinkley'
  return alarms.adwin.lastMs >= startMs ? 'ADWIN' : undefined
}
