import type { Principal } from '../../http/access/token-verifier.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'

/** Output of a connection. */
export interface ConnectionOutput {
  readonly writer: FrameWriter
  /** Address that the client comes from. */
  readonly address: string
  /** Holder of the client's token; undefined before the hello. */
  readonly principal: Principal | undefined
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
