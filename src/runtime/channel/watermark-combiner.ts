import { MIN_TIMESTAMP } from '../../core/time.ts'

/**
 * The watermark of a subtask from those of its channels: the smallest of the channels that are not
 * idle. It never falls, even if a channel that was idle becomes active with an older one. When the channel that held
 * it back becomes idle as the last one, it is the largest of all, as in Flink (`StatusWatermarkValve`): what the others
 * brought must not depend on which of them was idle first.
 */
export class WatermarkCombiner {
  private readonly watermarks: number[]
  private readonly idleChannels: boolean[]
  private current = MIN_TIMESTAMP

  constructor(channels: number) {
    this.watermarks = new Array<number>(channels).fill(MIN_TIMESTAMP)
    this.idleChannels = new Array<boolean>(channels).fill(false)
  }

  /** The combined watermark; MIN_TIMESTAMP until every channel has one. */
  get watermark(): number {
    return this.current
  }

  /** Whether every channel is idle. */
  get idle(): boolean {
    return this.idleChannels.every((idle) => idle)
  }

  /** Records a channel's watermark; true when the combined one grew. */
  advance(channel: number, timestamp: number): boolean {
    if (timestamp <= this.watermarks[channel]!) return false
    this.watermarks[channel] = timestamp
    return this.recompute()
  }

  /** Records whether a channel is idle; true when the combined watermark grew. */
  setIdle(channel: number, idle: boolean): boolean {
    this.idleChannels[channel] = idle
    if (!this.idle) return this.recompute()
    return this.watermarks[channel] === this.current && this.grow(Math.max(...this.watermarks))
  }

  private recompute(): boolean {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.watermarks.length; i++) {
      if (!this.idleChannels[i] && this.watermarks[i]! < least) least = this.watermarks[i]!
    }
    return least !== Number.POSITIVE_INFINITY && this.grow(least)
  }

  private grow(watermark: number): boolean {
    if (watermark <= this.current) return false
    this.current = watermark
    return true
  }
}
