import type { Deployment } from './deployment.ts'
import type { ModelId } from './model.ts'
import type { ModelSignature } from './signature.ts'

/** Model that can be asked. */
export interface ServedModel {
  readonly id: ModelId
  readonly signature: ModelSignature
  readonly deployment: Deployment
}
