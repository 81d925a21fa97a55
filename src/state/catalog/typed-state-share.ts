import type { QueryableKeys } from '../port/descriptors.ts'

/** One slot's part of a typed queryable state. It cannot be read in place: the slot is asked. */
export interface TypedStateShare {
  readonly queryableName: string
  /** The operator that has it. */
  readonly operatorUid: string
  /** Kind of its descriptor. */
  readonly kind: string
  /** Id of the serializer of the keys; undefined when it is not known. */
  readonly keyFormat?: string | undefined
  /** Id of the serializer of the values, elements or accumulators. */
  readonly valueFormat?: string
  /** Of map state: id of the serializer of the keys of maps. */
  readonly mapKeyFormat?: string
  /** What its keys are, where the operator makes them. */
  readonly keys?: QueryableKeys
  readonly slot: number
  readonly firstKeyGroup: number
  readonly lastKeyGroup: number
  readonly maxParallelism: number
}
