/** Windows in a row in which an answer may come slower than it must. */
const SLOW_WINDOWS = 2

/**
 * Watches how fast an answer comes. A timeout of silence begins again with every byte, so that a server that
 * sends one byte now and then would hold its request forever. An answer must have a byte for each millisecond,
 * over two windows as long as that timeout.
 */
export class AnswerPace {
  private readonly windowMs: number
  private readonly tooSlow: (error: Error) => void
  private timer: NodeJS.Timeout | undefined
  private bytes = 0
  private slowWindows = 0

  /** Calls `tooSlow` once, with the reason. */
  constructor(windowMs: number, tooSlow: (error: Error) => void) {
    this.windowMs = windowMs
    this.tooSlow = tooSlow
  }

  /** The request is sent. */
  begin(): void {
    this.timer = setInterval(() => this.look(), this.windowMs)
  }

  /** Bytes of the answer have come. */
  received(bytes: number): void {
    this.bytes += bytes
  }

  private look(): void {
    this.slowWindows = this.bytes < this.windowMs ? this.slowWindows + 1 : 0
    this.bytes = 0
    if (this.slowWindows < SLOW_WINDOWS) return
    this.end()
    const seconds = (SLOW_WINDOWS * this.windowMs) / 1000
    this.tooSlow(new Error(`the answer came slower than 1 kB a second for ${seconds} s`))
  }

  /** The answer is complete, or there is none. */
  end(): void {
    clearInterval(this.timer)
  }
}
