import * as weir from '../../../../src/index.ts'
import { type ArgumentsCalls, made, methodsOf, of } from './call.ts'

const fn = (): void => {}
const ratings = weir.ratingsTable([
  { user: '1', item: '1', rating: 1, timestamp: 0 },
  { user: '1', item: '2', rating: 2, timestamp: 1 },
  { user: '2', item: '1', rating: 3, timestamp: 2 },
])
const examples = ((): weir.SparseTable => {
  const builder = new weir.SparseTableBuilder()
  for (const label of [1, -1]) builder.add(label, [0], [label], 1)
  return builder.build()
})()

const place = { logDirectory: 'log' }
const registry = () => new weir.ModelRegistry({ place, clock: weir.systemClock })
const command = { kind: 'end-retraining', name: 'm', process: 'p' }
const chunk = new Uint8Array()

/** Calls of training, of models and of their publication. */
export const TRAINING_CALLS: ArgumentsCalls = {
  crossValidateAls: of(weir.crossValidateAls, ratings, 2, { iterations: 1, threads: 0 }),
  evaluateAls: of(weir.evaluateAls, {}, ratings),
  evaluateRanking: of(weir.evaluateRanking, {}, ratings, ratings),
  trainAls: of(weir.trainAls, [{ user: '1', item: '1', rating: 1, timestamp: 0 }]),
  trainBmf: of(weir.trainBmf, ratings),
  trainPopularity: of(weir.trainPopularity, ratings),
  trainLinear: of(weir.trainLinear, examples),
  crossValidateLinear: of(weir.crossValidateLinear, examples, 2),
  evaluateLinear: of(weir.evaluateLinear, {}, examples),
  linearPrior: of(weir.linearPrior, examples, {}),
  readLibsvm: of(weir.readLibsvm, []),
  readFeatures: of(weir.readFeatures, []),
  readRatings: of(weir.readRatings, []),
  ratingsTable: of(weir.ratingsTable, []),
  splitAtRandom: of(weir.splitAtRandom, ratings, 0.5, 1),
  splitByTime: of(weir.splitByTime, ratings, 0.5),
  splitFolds: of(weir.splitFolds, ratings, 2, 1),
  splitLeaveLast: of(weir.splitLeaveLast, ratings, 1),
  chainFile: of(weir.chainFile, 'file'),
  'new RatingsSpill': made(weir.RatingsSpill),
  exportFeatures: of(weir.exportFeatures, { n: weir.count().over('1h') }, [], [], {
    keyOf: fn,
    timeOf: fn,
  }),
  writeFeatureExamples: of(weir.writeFeatureExamples, 'examples.jsonl', []),
  seededRandom: of(weir.seededRandom, 1),
  generateRatings: of((...options) =>
    (weir.generateRatings as typeof weir.generateRatings)(
      ...(options as unknown as [never]),
    ).next(),
  ),
  'new GeneratedWeights': made(weir.GeneratedWeights),
  'new LinearExamples': made(weir.LinearExamples),
  'new RatingsParser': made(weir.RatingsParser, fn),
  modelVersion: of(weir.modelVersion, 1),
  alsKey: of(weir.alsKey, '1', 'U'),
  parseAlsKey: of(weir.parseAlsKey, '1-U'),
  parseTextRow: of(weir.parseTextRow, '1,U,1;2', 1),
  publishAls: of(weir.publishAls, {}),
  publishLinear: of(weir.publishLinear, {}),
  publishModel: of(weir.publishModel, {}),
  publishableWeights: of(weir.publishableWeights, [1]),
  retrain: of(weir.retrain),
  'new RetrainLoop': made(weir.RetrainLoop),
  ...methodsOf(
    'modelRegistry',
    registry,
    ['execute', command],
    ['require', command],
    ['adopt', 't', []],
    ['withVersions', 't', []],
  ),
  ...methodsOf(
    'alsModel',
    async () => await weir.trainAls(ratings, { iterations: 1, threads: 0 }),
    ['row', 'U', 0],
    ['ratingsOf', 'U', 0],
    ['rowOf', 'U', '1'],
    ['predict', '1', '1'],
  ),
  ...methodsOf('ratingsParser', () => new weir.RatingsParser(fn), ['push', chunk]),
  alsLearningCurve: of(weir.alsLearningCurve, []),
  linearLearningCurve: of(weir.linearLearningCurve, []),
  formatRating: of(weir.formatRating, { user: '1', item: '1', rating: 1, timestamp: 0 }, 'csv'),
  'new ModelRegistry': made(weir.ModelRegistry),
  'new VersionCoordinator': made(weir.VersionCoordinator),
  evaluateServed: {
    args: [],
    call: ({ client: reader }, ...args) =>
      (weir.evaluateServed as (...o: never[]) => unknown)(
        ...(args.length ? args : [reader as never]),
      ),
  },
  predictExamples: of((...args) =>
    (weir.predictExamples as (...o: never[]) => AsyncGenerator)(...args).next(),
  ),
  'new ServedClassifierQuality': made(weir.ServedClassifierQuality, true),
  'new Adwin': made(weir.Adwin),
  'new PageHinkley': made(weir.PageHinkley),
}
