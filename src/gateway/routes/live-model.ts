import { WeirError } from '../../core/errors.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import { MODEL_KIND } from '../../wire/routing-table.ts'
import type { ServedState } from '../port/services.ts'

/**
 * Throws RESTORING while the job serves no live model version, MODEL_NOT_LOADED while a model of any kind does not answer
 * that was there at the start or has answered since, and UNAVAILABLE while there is no job. Asks the job, because a gateway
 * without other requests would not notice a version that goes live.
 */
export async function requireLiveModel(state: ServedState): Promise<void> {
  const { states } = await state.refreshRouting()
  const hasModels = states.some(({ kind }) => kind === MODEL_KIND)
  const models = hasModels ? ((await state.models?.()) ?? []) : []
  const missing = models.filter((model) => model.isExpected && !answers(model))
  if (missing.length > 0) {
    // Everyone may ask, also without a token: names and reasons are not for everyone.
    const answering = models.filter(answers).length
    const message = `${answering} of ${models.length} models answer; /v2/models/NAME/ready says why one does not`
    throw new WeirError('MODEL_NOT_LOADED', message)
  }
  if (states.some(({ liveVersion }) => liveVersion > 0)) return
  throw new WeirError('RESTORING', 'no model version is live yet; try again')
}

/** Whether the live version can answer now. */
const answers = ({ versions, liveVersion }: ModelInfo): boolean =>
  versions.some(({ version, state }) => version === liveVersion && state === 'READY')
