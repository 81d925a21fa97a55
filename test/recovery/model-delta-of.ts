import { ModelDeltaBuffer, type ModelDeltaKind } from '../../src/models/als/online/model-delta.ts'

/** The fields of a delta. */
export interface ModelDelta {
  readonly kind: ModelDeltaKind
  readonly partition: number
  readonly offset: number
  readonly phase: number
  readonly values: Float32Array
}

/** Decodes the value of a delta of any rule. */
export function modelDeltaOf(bytes: Uint8Array): ModelDelta {
  const kind = bytes[1] === 0 ? 'step' : 'gram'
  const buffer = new ModelDeltaBuffer(kind, (bytes.length - 20) / 4)
  buffer.load(bytes, 0, bytes.length)
  const { partition, offset, phase, values } = buffer
  return { kind, partition, offset, phase, values: values.slice() }
}
