import { WeirError } from '../../core/errors.ts'
import type { ModelControl } from '../port/model-control.ts'

/** Versions for a gateway that was started without a model of the registry: every call says what to do. */
export const WITHOUT_REGISTRY: ModelControl = {
  model: '',
  versions: refuse,
  promote: refuse,
  rollBack: refuse,
}

async function refuse(): Promise<never> {
  throw new WeirError(
    'UNSUPPORTED',
    'this gateway knows no model of the registry: start it with "weir gateway --model NAME", or use "weir model list", "promote" and "rollback"; models of any kind are at /v2/repository/index',
  )
}
