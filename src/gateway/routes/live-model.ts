import { WeirError } from '../../core/errors.ts'
import type { ServedState } from '../port/services.ts'

/**
 * Throws RESTORING while the job serves no live model version, and UNAVAILABLE while there is no job. Asks
 * the job, because a gateway without other requests would not notice a version that goes live.
 */
export async function requireLiveModel(state: ServedState): Promise<void> {
  const { states } = await state.refreshRouting()
  if (states.some(({ liveVersion }) => liveVersion > 0)) return
  throw new WeirError('RESTORING', 'no model version is live yet; try again')
}
