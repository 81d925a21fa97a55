import type { FrameWriter } from '../../wire/frame-writer.ts'

/** Output of a connection. */
export interface ConnectionOutput {
  readonly writer: FrameWriter
  /** Largest frame that the client accepts. */
  readonly clientFrameBytes: number
  /** Whether answers can still be sent. */
  readonly isOpen: boolean
  /** Bytes that may still be written before the client has read some. */
  readonly room: number
  /** Whether the output should be sent before more is written. */
  isFull(): boolean
  /** Sends the output at the end of this turn of the event loop. */
  flushSoon(): void
}
