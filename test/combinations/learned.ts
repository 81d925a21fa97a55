import { until } from '../run/until.ts'
import type { Installation } from './installation.ts'
import type { Kind } from './kind.ts'
import { originsOf } from './ledger.ts'
import type { ReportedError } from './plain/progress.ts'
import type { Service } from './service.ts'

/** What a job reports of a version that it learns; undefined before its first observation. */
export async function errorOf(
  service: Service,
  version: number,
): Promise<ReportedError | undefined> {
  const reported = await service.client.get<{
    readonly ratings?: number
    readonly mse?: number
    readonly examples?: number
    readonly loss?: number
    readonly slots: readonly unknown[]
  }>('LEARNING_ERROR', String(version))
  if (reported === undefined) return undefined
  const { ratings, mse, examples = ratings, loss = mse, slots } = reported
  return { count: examples!, loss: loss!, slots }
}

/** What a job is to have learned. */
export interface Expected {
  readonly version: number
  /** Steps of different observations. */
  readonly count: number
  readonly service: Service
  /** Those that the reported error does not count. @default 0 */
  readonly uncounted?: number
}

/**
 * Waits until each observation of the topic has its step on a version: `count` steps, or, where not every observation
 * has one, a step of the last observation.
 */
export async function untilLearned(
  at: Installation,
  kind: Kind,
  { version, count, service, uncounted = 0 }: Expected,
): Promise<void> {
  const counted = count - uncounted
  let reported: number | undefined
  await until(
    () => `LEARNING_ERROR counts ${reported} observations, not ${counted}`,
    async () => {
      if (service.hasEnded) throw new Error('the service has ended')
      reported = (await errorOf(service, version))?.count
      return reported === counted
    },
    { everyMs: 50 },
  )
  // Only now: each look reads a topic.
  let seen = 0
  await until(
    () => `${seen} observations have a step on version ${version}, not ${count}`,
    async () => {
      if (service.hasEnded) throw new Error('the service has ended')
      const origins = await originsOf(at, kind, version)
      const places = new Set(origins.map(({ partition, offset }) => `${partition}/${offset}`))
      seen = places.size
      if (kind.stepsAlways) return seen === count
      const { partition, offset } = (await at.records(kind.observations)).at(-1)!
      return places.has(`${partition}/${offset}`)
    },
    { everyMs: 50 },
  )
}
