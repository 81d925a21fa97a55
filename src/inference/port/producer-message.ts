import type { ModelId } from './model.ts'
import type { ServedModel } from './served-model.ts'

/** Model as a thread gets to know it: plain data and the memory of the queue. */
export interface SharedModel {
  readonly served: ServedModel
  readonly buffer: SharedArrayBuffer
  readonly maxItems: number
}

/** Message of the engine to a thread that asks models. */
export type ProducerMessage =
  | { readonly kind: 'welcome'; readonly producer: number; readonly models: readonly SharedModel[] }
  | { readonly kind: 'add'; readonly model: SharedModel }
  | { readonly kind: 'retire'; readonly id: ModelId }
