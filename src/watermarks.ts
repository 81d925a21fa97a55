/** What the package exports of event time: watermark strategies and generators. */

export {
  boundedOutOfOrderness,
  generatedWatermarks,
  monotonousTimestamps,
  noWatermarks,
  type WatermarkAlignment,
  type WatermarkOptions,
  type WatermarkStrategy,
} from './dataflow/watermark-strategy.ts'
export type { WatermarkGenerator, WatermarkOutput } from './operators/port/watermark-generator.ts'
