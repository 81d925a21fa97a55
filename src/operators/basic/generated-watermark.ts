import { MIN_TIMESTAMP } from '../../core/time.ts'
import { requireTime } from '../port/event-time.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { WatermarkGenerator, WatermarkOutput } from '../port/watermark-generator.ts'

/** What a watermark generator has decided so far. */
export class GeneratedWatermark<T> implements WatermarkOutput {
  /** The largest watermark, MIN_TIMESTAMP before the first. */
  watermark = MIN_TIMESTAMP
  idle = false
  private readonly generator: WatermarkGenerator<T>

  constructor(generator: WatermarkGenerator<T>) {
    this.generator = generator
  }

  /** A record was emitted; whether the watermark rose. */
  onEvent(value: T, timestamp: number): boolean {
    const before = this.watermark
    this.idle = false
    const result: unknown = this.generator.onEvent(value, timestamp, this)
    if (result !== undefined) refusePromise(result, 'onEvent of the watermark generator')
    return this.watermark > before
  }

  /** It is time to look at the watermark. */
  onPeriodicEmit(): void {
    const result: unknown = this.generator.onPeriodicEmit(this)
    if (result !== undefined) refusePromise(result, 'onPeriodicEmit of the watermark generator')
  }

  emitWatermark(timestamp: number): void {
    if (!(timestamp <= this.watermark)) {
      requireTime(timestamp, 'the watermark that the generator emits')
      this.watermark = timestamp
    }
    this.idle = false
  }

  markIdle(): void {
    this.idle = true
  }

  markActive(): void {
    this.idle = false
  }
}
