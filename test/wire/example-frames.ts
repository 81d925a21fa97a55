import { FrameReader } from '../../src/wire/frame.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'

/** The bytes that `write` puts into an empty writer. */
export function written(write: (writer: FrameWriter) => void): Uint8Array {
  const writer = new FrameWriter(16)
  write(writer)
  return writer.toBytes()
}

/** A reader that stands on the only frame of `bytes`. */
export function frameOf(bytes: Uint8Array): FrameReader {
  const reader = new FrameReader(() => 1 << 20)
  reader.append(bytes)
  if (!reader.next()) throw new Error('no whole frame')
  return reader
}

/** Bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
