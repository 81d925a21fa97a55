import { FrameWriter } from './frame-writer.ts'

const KEPT_WRITERS = 64
/** Most bytes of all idle writers: enough that some long frames in a row allocate nothing. */
const KEPT_BYTES = 8 * 1024 * 1024

/** Pool of output buffers: each write takes one and returns it when the socket has sent it. */
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

  /** Returns a writer whose bytes are no longer read. */
  release(writer: FrameWriter): void {
    const bytes = writer.bytes.length
    if (this.idle.length >= KEPT_WRITERS || this.keptBytes + bytes > KEPT_BYTES) return
    writer.reset()
    this.keptBytes += bytes
    this.idle.push(writer)
  }
}
