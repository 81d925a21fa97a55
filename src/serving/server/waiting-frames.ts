import { FrameReader } from '../../wire/frame.ts'
import { RequestCursor } from '../../wire/request.ts'

/** Room for times at first. */
const FIRST_TIMES = 64
const NO_TIMES = new Float64Array(0)

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
  private times = NO_TIMES
  private at = 0
  private timesEnd = 0

  /** Frames that wait. */
  get size(): number {
    return (this.timesEnd - this.at) / 2
  }

  /** Copies the frame that ends where the cursor's frame ends and has `frameBytes`. */
  push(cursor: RequestCursor, frameBytes: number, startedAt: number, deadline: number): void {
    this.frames.appendCopy(cursor.bytes, cursor.end - frameBytes, cursor.end)
    if (this.timesEnd === this.times.length) this.makeRoom()
    this.times[this.timesEnd++] = startedAt
    this.times[this.timesEnd++] = deadline
  }

  /** Takes the places of used times, or twice the room. */
  private makeRoom(): void {
    const { times, at, timesEnd } = this
    const isHalfUsed = at * 2 >= times.length && at > 0
    if (!isHalfUsed) this.times = new Float64Array(Math.max(FIRST_TIMES, times.length * 2))
    this.times.set(times.subarray(at, timesEnd))
    this.at = 0
    this.timesEnd = timesEnd - at
  }

  /** Opens the next frame, at least one must wait. Returns its bytes. */
  shift(): number {
    const { frames, cursor, times } = this
    frames.next()
    this.startedAt = times[this.at]!
    this.deadline = times[this.at + 1]!
    this.at += 2
    if (this.at === this.timesEnd) this.clearTimes()
    cursor.open(frames)
    cursor.readPreamble()
    return frames.end - frames.start
  }

  private clearTimes(): void {
    if (this.times.length > FIRST_TIMES) this.times = NO_TIMES
    this.at = 0
    this.timesEnd = 0
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
