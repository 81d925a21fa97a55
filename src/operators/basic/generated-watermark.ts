import { MIN_TIMESTAMP } from '../../core/time.ts'
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
    this.generator.onEvent(value, timestamp, this)
    return this.watermark > before
  }

  /** It is time to look at the watermark. */
  onPeriodicEmit(): void {
    this.generator.onPeriodicEmit(this)
  }

  emitWatermark(timestamp: number): void {
    if (timestamp > this.watermark) this.watermark = timestamp
    this.idle = false
  }

  markIdle(): void {
    this.idle = true
  }

  markActive(): void {
    this.idle = false
  }
}
