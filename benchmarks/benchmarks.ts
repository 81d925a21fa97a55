import type { Benchmark } from './benchmark.ts'
import { checkpointBenchmark } from './checkpoint.ts'
import { kafkaExactlyOnceBenchmark } from './kafka-exactly-once.ts'
import { kafkaModelLoadBenchmark } from './kafka-model-load.ts'
import { kafkaRatingsBenchmark } from './kafka-ratings.ts'
import { learnBenchmark, learnKafkaBenchmark } from './learn.ts'
import { learnLatencyBenchmark } from './learn-latency.ts'
import { learnWindowsBenchmark } from './learn-windows.ts'
import { machineSpeedBenchmark } from './machine-speed.ts'
import { memoryBenchmark } from './memory.ts'
import { modelLoadBenchmark } from './model-load.ts'
import { predictHotBenchmark } from './predict-hot.ts'
import { predictSequentialBenchmark } from './predict-sequential.ts'
import { predictSpilledBenchmark } from './predict-spilled.ts'
import { predictUniformBenchmark } from './predict-uniform.ts'
import { predictUpdatingBenchmark } from './predict-updating.ts'
import { qualityA9aBenchmark } from './quality-a9a.ts'
import { qualityMl100kBenchmark } from './quality-ml100k.ts'
import { qualityOnlineBenchmark } from './quality-online.ts'
import { recoveryBenchmark } from './recovery.ts'
import { shuffleBenchmark } from './shuffle.ts'
import { svmThesisBenchmark } from './svm-thesis.ts'
import { svmUrlBenchmark } from './svm-url.ts'
import { topKBenchmark } from './top-k.ts'
import { trainAlsBenchmark } from './train-als.ts'
import { trainAlsGpuBenchmark } from './train-als-gpu.ts'

/**
 * Every benchmark, in the order of the README's table where sharing allows: those that need the
 * whole model in memory follow each other, so that it is loaded once.
 */
export const BENCHMARKS: readonly Benchmark[] = [
  machineSpeedBenchmark,
  shuffleBenchmark,
  modelLoadBenchmark,
  kafkaRatingsBenchmark,
  kafkaModelLoadBenchmark,
  kafkaExactlyOnceBenchmark,
  predictSequentialBenchmark,
  predictHotBenchmark,
  predictUniformBenchmark,
  predictUpdatingBenchmark,
  checkpointBenchmark,
  predictSpilledBenchmark,
  topKBenchmark,
  recoveryBenchmark,
  memoryBenchmark,
  qualityMl100kBenchmark,
  qualityA9aBenchmark,
  qualityOnlineBenchmark,
  learnBenchmark,
  learnLatencyBenchmark,
  learnKafkaBenchmark,
  learnWindowsBenchmark,
  trainAlsBenchmark,
  trainAlsGpuBenchmark,
  svmUrlBenchmark,
  svmThesisBenchmark,
]
