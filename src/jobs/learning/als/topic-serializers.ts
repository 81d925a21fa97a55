import type { RecordSerializer } from '../../../connectors/records/outgoing-record.ts'
import { ModelDeltaBuffer, type ModelDeltaKind } from '../../../models/als/online/model-delta.ts'
import type { OutgoingDelta } from './delta-sender.ts'

/** Key bytes of a delta, with the version. */
const MAX_KEY_BYTES = 64

/** Writes deltas: key `<id>-I@<version>`, value as `ModelDeltaBuffer` has it. `floats`: of most of them. */
export function deltaSerializer(
  kind: ModelDeltaKind,
  floats: number,
): RecordSerializer<OutgoingDelta> {
  let buffer = new ModelDeltaBuffer(kind, floats)
  const key = new Uint8Array(MAX_KEY_BYTES)
  // A new view for every delta would be garbage.
  const keys = Array.from({ length: key.length + 1 }, (_, length) => key.subarray(0, length))
  let version = -1
  let suffix: Uint8Array = new Uint8Array(0)
  return (delta, record) => {
    if (delta.version !== version) {
      version = delta.version
      suffix = new TextEncoder().encode(`@${version}`)
    }
    const { bytes, start, length } = delta.key
    for (let i = 0; i < length; i++) key[i] = bytes[start + i]!
    key.set(suffix, length)
    // Versions may have rows of different lengths; one is learned at a time.
    if (buffer.values.length !== delta.values.length) {
      buffer = new ModelDeltaBuffer(kind, delta.values.length)
    }
    buffer.setOrigin(delta.sourceKeyGroup, delta.partition, delta.offset, delta.attemptTag)
    buffer.phase = delta.phase
    buffer.values.set(delta.values)
    record.key = keys[length + suffix.length]!
    record.value = buffer.bytes
  }
}
