import type { ErrorCode } from '../../core/errors.ts'
import type { ModelId } from '../../inference/port/model.ts'
import type { ProducerMessage } from '../../inference/port/producer-message.ts'

/** What a subtask sends to the coordinator of its operator: it wants to ask a model. */
export interface LinkRequest {
  readonly kind: 'link'
  /** Name of the model, or a name and an alias: `ranker@stable`. */
  readonly model: string
}

/** What the coordinator sends to a subtask. */
export type LinkEvent =
  /** The way to the queues. */
  | { readonly kind: 'engine'; readonly message: ProducerMessage }
  /** The version that answers from now on. */
  | { readonly kind: 'route'; readonly id: ModelId }
  /** No version answers now. */
  | { readonly kind: 'no-route'; readonly code: ErrorCode; readonly message: string }
