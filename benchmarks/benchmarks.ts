import type { Benchmark } from './harness/benchmark.ts'
import { httpBatchBenchmark } from './http/batch.ts'
import { dashboardBenchmark } from './http/dashboard.ts'
import { metricsCostBenchmark } from './http/metrics-cost.ts'
import { httpObserveBenchmark } from './http/observe.ts'
import { httpPredictBenchmark } from './http/predict.ts'
import { httpTopKBenchmark } from './http/top-k.ts'
import {
  batchingGainBenchmark,
  delayGainBenchmark,
  overdueBenchmark,
  overloadBenchmark,
  workerScalingBenchmark,
} from './inference/batching.ts'
import {
  inferHeavyBenchmark,
  inferLinearBenchmark,
  inferNoopBenchmark,
} from './inference/engine.ts'
import { floodBenchmark } from './inference/flood.ts'
import { inferGrpcBenchmark } from './inference/grpc.ts'
import { hedgeBenchmark } from './inference/hedge.ts'
import { inferLoadBenchmark } from './inference/load-time.ts'
import { inferServedBenchmark } from './inference/over-network.ts'
import { inferOverloadBenchmark } from './inference/overload.ts'
import { inferPhotoBenchmark } from './inference/photo.ts'
import { inferRivalsBenchmark } from './inference/rivals.ts'
import { swapBenchmark } from './inference/swap.ts'
import { inferTinyModelsBenchmark } from './inference/tiny-models.ts'
import { kafkaExactlyOnceBenchmark } from './kafka/exactly-once.ts'
import { kafkaModelLoadBenchmark } from './kafka/model-load.ts'
import { kafkaRatingsBenchmark } from './kafka/ratings.ts'
import { learnLatencyBenchmark } from './learning/latency.ts'
import { learnBenchmark, learnKafkaBenchmark } from './learning/learn.ts'
import { qualityLiveBenchmark } from './learning/quality-live.ts'
import { learnWindowsBenchmark } from './learning/windows.ts'
import { machineSpeedBenchmark } from './machine/speed.ts'
import { selectRegretBenchmark } from './pipelines/select-regret.ts'
import { predictHotBenchmark } from './predict/hot.ts'
import { predictSequentialBenchmark } from './predict/sequential.ts'
import { predictSpilledBenchmark } from './predict/spilled.ts'
import { svmFrequencyBenchmark } from './predict/svm-frequency.ts'
import { svmThesisBenchmark } from './predict/svm-thesis.ts'
import { svmUrlBenchmark } from './predict/svm-url.ts'
import { topKBenchmark } from './predict/top-k.ts'
import { topKRulesBenchmark } from './predict/top-k-rules.ts'
import { predictUniformBenchmark } from './predict/uniform.ts'
import { predictUpdatingBenchmark } from './predict/updating.ts'
import { scaleOutHandoverBenchmark } from './scale-out/handover.ts'
import { checkpointBenchmark } from './state/checkpoint.ts'
import { memoryBenchmark } from './state/memory.ts'
import { modelLoadBenchmark } from './state/model-load.ts'
import { recoveryBenchmark } from './state/recovery.ts'
import { shuffleBenchmark } from './state/shuffle.ts'
import { asyncIoBenchmark } from './streams/async-io.ts'
import { featuresBenchmark } from './streams/features.ts'
import {
  nexmarkBenchmark,
  nexmarkRocksdbBenchmark,
  nexmarkSpilledBenchmark,
} from './streams/nexmark.ts'
import { streamBenchmarks } from './streams/operators.ts'
import { tableOperatorBenchmarks } from './tables/operators.ts'
import { tableBenchmarks } from './tables/tables.ts'
import { trainA9aBenchmark } from './training/a9a.ts'
import { trainAlsBenchmark } from './training/als.ts'
import { trainAlsGpuBenchmark } from './training/als-gpu.ts'
import { trainAlsSpilledBenchmark } from './training/als-spilled.ts'
import { trainBmfBenchmark } from './training/bmf.ts'
import { trainBmfGpuBenchmark } from './training/bmf-gpu.ts'
import { qualityA9aBenchmark } from './training/quality-a9a.ts'
import { qualityBmfBenchmark } from './training/quality-bmf.ts'
import { qualityBmfFeaturesBenchmark } from './training/quality-bmf-features.ts'
import { qualityFloodBenchmark } from './training/quality-flood.ts'
import { qualityMl100kBenchmark } from './training/quality-ml100k.ts'
import { qualityOnlineBenchmark } from './training/quality-online.ts'
import { qualityRankingBenchmark } from './training/quality-ranking.ts'

/**
 * Every benchmark, in the order in which they run. Those that need the whole model in memory follow each
 * other, so that it is loaded once.
 */
export const BENCHMARKS: readonly Benchmark[] = [
  machineSpeedBenchmark,
  shuffleBenchmark,
  nexmarkBenchmark,
  nexmarkRocksdbBenchmark,
  nexmarkSpilledBenchmark,
  asyncIoBenchmark,
  ...streamBenchmarks,
  ...tableBenchmarks,
  ...tableOperatorBenchmarks,
  featuresBenchmark,
  modelLoadBenchmark,
  kafkaRatingsBenchmark,
  kafkaModelLoadBenchmark,
  kafkaExactlyOnceBenchmark,
  predictSequentialBenchmark,
  predictHotBenchmark,
  predictUniformBenchmark,
  httpPredictBenchmark,
  httpBatchBenchmark,
  metricsCostBenchmark,
  predictUpdatingBenchmark,
  checkpointBenchmark,
  predictSpilledBenchmark,
  topKBenchmark,
  topKRulesBenchmark,
  httpTopKBenchmark,
  dashboardBenchmark,
  recoveryBenchmark,
  memoryBenchmark,
  scaleOutHandoverBenchmark,
  qualityMl100kBenchmark,
  qualityBmfBenchmark,
  qualityBmfFeaturesBenchmark,
  qualityRankingBenchmark,
  qualityA9aBenchmark,
  qualityOnlineBenchmark,
  qualityLiveBenchmark,
  qualityFloodBenchmark,
  httpObserveBenchmark,
  learnBenchmark,
  learnLatencyBenchmark,
  learnKafkaBenchmark,
  learnWindowsBenchmark,
  trainA9aBenchmark,
  trainAlsBenchmark,
  trainAlsSpilledBenchmark,
  trainBmfBenchmark,
  trainAlsGpuBenchmark,
  trainBmfGpuBenchmark,
  svmUrlBenchmark,
  svmThesisBenchmark,
  svmFrequencyBenchmark,
  inferNoopBenchmark,
  inferLinearBenchmark,
  inferHeavyBenchmark,
  inferServedBenchmark,
  inferGrpcBenchmark,
  inferLoadBenchmark,
  inferTinyModelsBenchmark,
  inferOverloadBenchmark,
  inferPhotoBenchmark,
  inferRivalsBenchmark,
  hedgeBenchmark,
  floodBenchmark,
  swapBenchmark,
  batchingGainBenchmark,
  delayGainBenchmark,
  overloadBenchmark,
  overdueBenchmark,
  workerScalingBenchmark,
  selectRegretBenchmark,
]
