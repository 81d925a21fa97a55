import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { RetrainOutcome } from '../../jobs/retrain/options.ts'
import { errorsOf, type LoopStages } from './stages.ts'
import { count, errorText } from './text.ts'

const POLL_MS = 2
const SWITCH_TIMEOUT_MS = 60_000

/** Waits until the promoted version answers, then measures it on the ratings that are left. */
export async function followPromotion(
  stages: LoopStages,
  { version: { number: version }, gap }: Extract<RetrainOutcome, { kind: 'promoted' }>,
): Promise<void> {
  const { errors, feeder, figures, live, report, stream, traffic } = stages
  await untilAnsweredBy(stages, version)
  figures.promotedVersion = version
  figures.liveVersion = version
  const { requests, failedRequests } = traffic.figures
  report(
    'promote',
    `version ${version} is live (was ${live}); ${count(requests)} background predictions, ${count(failedRequests)} failed; ${count(figures.replayed ?? 0)} ratings replayed before the switch, ${count(gap)} after it`,
  )
  await untilLearningOn(stages, version)
  const before = await errors.total(version)
  const fed = [...(await feeder.next(stream.batch)), ...(await feeder.next(stream.batch))]
  await errors.until(version, before.ratings + fed.length)
  const after = await errorsOf(stages, version, fed)
  if (!Number.isFinite(after.learned)) return
  figures.promotedRmse = after.learned
  report('', `${count(fed.length)} ratings later: ${errorText(after)}`)
}

/** Rolls the promoted version back, and forward again. */
export async function rollBackAndForward(stages: LoopStages, version: number): Promise<void> {
  const { figures, live, report } = stages
  const backMs = await rollBack(stages, version, live)
  figures.rolledBackTo = live
  figures.rollbackMs = backMs
  const forwardMs = await rollBack(stages, live, version)
  report(
    'rollback',
    `back to version ${live} in ${count(backMs)} ms, then forward to version ${version} in ${count(forwardMs)} ms`,
  )
}

/** Rolls back and waits for an answer of the other version; returns the time that this took, ms. */
async function rollBack(stages: LoopStages, from: number, to: number): Promise<number> {
  const { registry, flags, figures } = stages
  const startMs = systemClock.monotonicMs()
  await registry.require({
    kind: 'rollback',
    name: flags.string('topic'),
    expectedLive: from,
    atMs: systemClock.nowMs(),
    reason: 'shown by the quickstart',
  })
  await untilAnsweredBy(stages, to)
  figures.liveVersion = to
  return Math.round(systemClock.monotonicMs() - startMs)
}

/** Waits until learning follows the switch; earlier ratings are learned on the old version. */
async function untilLearningOn({ learningOn, pause }: LoopStages, version: number): Promise<void> {
  const endMs = systemClock.monotonicMs() + SWITCH_TIMEOUT_MS
  while (learningOn() !== version && systemClock.monotonicMs() < endMs) await pause(POLL_MS)
}

async function untilAnsweredBy({ traffic, pause }: LoopStages, version: number): Promise<void> {
  const endMs = systemClock.monotonicMs() + SWITCH_TIMEOUT_MS
  while ((await traffic.versionOfAnswer()) !== version) {
    if (systemClock.monotonicMs() > endMs) {
      throw new WeirError(
        'UNAVAILABLE',
        `version ${version} does not answer ${SWITCH_TIMEOUT_MS / 1000} s after it was made live; check it with "weir model show ${version}" and start again`,
      )
    }
    await pause(POLL_MS)
  }
}
