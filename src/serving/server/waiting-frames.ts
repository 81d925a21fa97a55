import { FrameReader } from '../../wire/frame.ts'
import { RequestCursor } from '../../wire/request.ts'

/** Times that are removed together, once all of them were used. */
const DROPPED_TIMES = 1024

/**
 * Request frames of one connection that wait undecoded, in order. A client may have thousands of them
 * waiting: as bytes they cost a copy, as objects they would hold up the thread's garbage collector.
 */
export class WaitingFrames {
  /** The frame that `shift` took, its preamble read. */
  readonly cursor = new RequestCursor()
  /** When the frame that `shift` took came in, monotonic ms. */
  startedAt = 0
  /** When it fails, monotonic ms. */
  deadline = 0
  private readonly frames = new FrameReader(() => Number.POSITIVE_INFINITY)
  /** Two numbers a frame: `startedAt` and `deadline`. */
  private times: number[] = []
  private at = 0

  /** Frames that wait. */
  get size(): number {
    return (this.times.length - this.at) / 2
  }

  /** Copies the frame that ends where the cursor's frame ends and has `frameBytes`. */
  push(cursor: RequestCursor, frameBytes: number, startedAt: number, deadline: number): void {
    this.frames.appendCopy(cursor.bytes, cursor.end - frameBytes, cursor.end)
    this.times.push(startedAt, deadline)
  }

  /** Opens the next frame, at least one must wait. Returns its bytes. */
  shift(): number {
    const { frames, cursor, times } = this
    frames.next()
    this.startedAt = times[this.at]!
    this.deadline = times[this.at + 1]!
    this.at += 2
    if (this.at === times.length) this.clearTimes()
    else if (this.at >= DROPPED_TIMES) {
      times.splice(0, this.at)
      this.at = 0
    }
    cursor.open(frames)
    cursor.readPreamble()
    return frames.end - frames.start
  }

  private clearTimes(): void {
    this.times = []
    this.at = 0
  }

  /** Drops all frames: the connection is gone. */
  release(): void {
    this.frames.release()
    this.clearTimes()
  }

  /** Releases a large buffer that was not needed since the last call. */
  shrink(): void {
    this.frames.shrink()
  }
}
