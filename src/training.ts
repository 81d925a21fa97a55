/** What the package exports of training: trainers, their models and data, quality. */

export type { PopularityOptions } from './kinds/popularity/options.ts'
export { trainPopularity } from './kinds/popularity/train.ts'
export type { PenaltyScaling } from './models/als/penalty.ts'
export type { LinearPrior } from './models/linear/prior.ts'
export { type CrossValidation, crossValidateAls } from './training/als/cross-validate.ts'
export { evaluateAls } from './training/als/evaluate.ts'
export { evaluateRanking, type RankingOptions } from './training/als/evaluate-ranking.ts'
export { alsLearningCurve } from './training/als/learning-curve.ts'
export type { AlsModel, ScoredPair } from './training/als/solver/model.ts'
export type {
  AlsDeviceChoice,
  AlsDeviceName,
  AlsFeedback,
  AlsOptions,
  AlsProgress,
  AlsSolverKind,
  StartingRows,
} from './training/als/solver/options.ts'
export type { RatingsSource } from './training/als/solver/sides.ts'
export { trainAls } from './training/als/train.ts'
export { chainFile } from './training/bmf/chain-file.ts'
export type { ChainState, ChainStore } from './training/bmf/chain-state.ts'
export type { BmfDeviceChoice, BmfOptions, BmfProgress } from './training/bmf/options.ts'
export { type BmfResult, trainBmf } from './training/bmf/train.ts'
export type { FeatureScaling } from './training/data/feature-scales.ts'
export type { FeatureTable } from './training/data/feature-table.ts'
export { type RatingsTable, ratingsTable } from './training/data/ratings-table.ts'
export { readFeatures } from './training/data/read-features.ts'
export { type ReadExamples, readLibsvm } from './training/data/read-libsvm.ts'
export { type ReadRatings, readRatings } from './training/data/read-ratings.ts'
export { type SparseTable, SparseTableBuilder } from './training/data/sparse-table.ts'
export {
  type RatingsSplit,
  splitAtRandom,
  splitByTime,
  splitFolds,
  splitLeaveLast,
} from './training/data/split-ratings.ts'
export {
  type ExportFeaturesOptions,
  type ExportKey,
  exportFeatures,
  type FeatureExample,
  type FeatureLabel,
} from './training/features/export.ts'
export { writeFeatureExamples } from './training/features/write-examples.ts'
export { crossValidateLinear, evaluateLinear } from './training/linear/evaluate.ts'
export { linearLearningCurve } from './training/linear/learning-curve.ts'
export type { LinearLossName } from './training/linear/loss.ts'
export type { LinearModel } from './training/linear/model.ts'
export type { LinearOptions, LinearProgress, LinearSolverKind } from './training/linear/options.ts'
export { linearPrior } from './training/linear/prior.ts'
export { trainLinear } from './training/linear/train.ts'
export type { ClassificationSummary } from './training/metrics/classification.ts'
export type { CoverageCounts, ErrorSummary, PairCoverage } from './training/metrics/errors.ts'
export type { MeanEstimate, RankingSummary } from './training/metrics/ranking.ts'
export { RatingsSpill, type RatingsSpillOptions } from './training/spill/ratings-spill.ts'
export type { SpilledRatings } from './training/spill/spilled-ratings.ts'
