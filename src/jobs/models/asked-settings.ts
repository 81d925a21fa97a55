import { maxItemsOf, workersOf } from '../../inference/engine/deployment-plan.ts'
import type { AskedModelSettings } from '../asked-models.ts'
import type { LoadedVersion } from './served-model.ts'

/** Settings of a live version that pages show, with the defaults of those that are not given; null without one. */
export function askedSettings(live: LoadedVersion | undefined): AskedModelSettings | null {
  if (live === undefined) return null
  const { deployment, cacheBytes } = live.settings
  const { batching, sloMs } = deployment
  return {
    rule: batching?.rule ?? 'slack',
    sloMs,
    maxBatchItems: maxItemsOf(live.signature, deployment),
    workers: workersOf(deployment),
    cacheBytes,
  }
}
