import { FrameWriter } from './frame-writer.ts'

const KEPT_WRITERS = 64
/** Bytes that idle writers keep together, so that a few long frames in turn allocate nothing. */
const KEPT_BYTES = 8 * 1024 * 1024

/** Output buffers used again: one is taken per write and given back when the socket has sent it. */
export class WriterPool {
  private readonly idle: FrameWriter[] = []
  private keptBytes = 0

  /** An empty writer. */
  acquire(): FrameWriter {
    const writer = this.idle.pop()
    if (writer === undefined) return new FrameWriter(16 * 1024)
    this.keptBytes -= writer.bytes.length
    return writer
  }

  /** Takes a writer back whose bytes nobody reads any more. */
  release(writer: FrameWriter): void {
    const bytes = writer.bytes.length
    if (this.idle.length >= KEPT_WRITERS || this.keptBytes + bytes > KEPT_BYTES) return
    writer.reset()
    this.keptBytes += bytes
    this.idle.push(writer)
  }
}
