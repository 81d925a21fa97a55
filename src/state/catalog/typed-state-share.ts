/** One slot's part of a typed queryable state. It cannot be read in place: the slot is asked. */
export interface TypedStateShare {
  readonly queryableName: string
  /** Kind of its descriptor. */
  readonly kind: string
  /** Id of the serializer of the keys; undefined when it is not known. */
  readonly keyFormat?: string | undefined
  readonly slot: number
  readonly firstKeyGroup: number
  readonly lastKeyGroup: number
  readonly maxParallelism: number
}
