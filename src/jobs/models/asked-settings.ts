import { mostItemsOf } from '../../inference/engine/deployment-plan.ts'
import type { ModelSettings } from '../../inference/repository/settings.ts'
import type { AskedModelSettings } from '../asked-models.ts'

/** The settings of a model that pages show, with the defaults of those that are not given. */
export function askedSettings({ deployment, cacheBytes }: ModelSettings): AskedModelSettings {
  const { batching, sloMs, workers = 1 } = deployment
  return {
    rule: batching?.rule ?? 'slack',
    sloMs,
    maxBatchItems: mostItemsOf(deployment),
    workers,
    cacheBytes,
  }
}
