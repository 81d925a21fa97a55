/** Bytes of one element of each datatype of the Open Inference Protocol v2; 0 for BYTES, whose elements vary. */
export const DATATYPE_BYTES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
} as const

/** Datatype of the Open Inference Protocol v2. */
export type TensorDatatype = keyof typeof DATATYPE_BYTES

/** Named tensor in row-major order, as raw little-endian bytes. */
export interface Tensor {
  readonly name: string
  readonly datatype: TensorDatatype
  /** Sizes of the dimensions; an empty shape is a scalar. */
  readonly shape: readonly number[]
  /**
   * The elements as the protocol's binary extension has them. BOOL is one byte, 0 or 1. Each element of
   * BYTES is a length (4 bytes) and as many bytes. The bytes may be a view of shared memory; who keeps a
   * tensor for longer than the call that passed it copies them.
   */
  readonly data: Uint8Array
}
