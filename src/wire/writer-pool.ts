import { FrameWriter } from './frame-writer.ts'

const KEPT_WRITERS = 64
const KEPT_BYTES = 256 * 1024

/** Output buffers used again: one is taken per write and given back when the socket has sent it. */
export class WriterPool {
  private readonly idle: FrameWriter[] = []

  /** An empty writer. */
  acquire(): FrameWriter {
    return this.idle.pop() ?? new FrameWriter(16 * 1024)
  }

  /** Takes a writer back whose bytes nobody reads any more. */
  release(writer: FrameWriter): void {
    if (this.idle.length >= KEPT_WRITERS || writer.bytes.length > KEPT_BYTES) return
    writer.reset()
    this.idle.push(writer)
  }
}
