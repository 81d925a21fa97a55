import type { Command } from './command.ts'

/**
 * How each verb's module is loaded, by name, in the order of `weir --help`: a verb starts without the
 * code of the others.
 */
export const COMMAND_LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  quickstart: async () => (await import('./quickstart.ts')).quickstartCommand,
  'train als': async () => (await import('./train-als.ts')).trainAlsCommand,
  'train svm': async () => (await import('./train-linear.ts')).trainSvmCommand,
  'train logistic': async () => (await import('./train-linear.ts')).trainLogisticCommand,
  'learn svm': async () => (await import('./learn-svm.ts')).learnSvmCommand,
  run: async () => (await import('./run.ts')).runCommand,
  'learn als': async () => (await import('./learn-als.ts')).learnAlsCommand,
  predict: async () => (await import('./predict.ts')).predictCommand,
  recommend: async () => (await import('./recommend.ts')).recommendCommand,
  query: async () => (await import('./query.ts')).queryCommand,
  evaluate: async () => (await import('./evaluate.ts')).evaluateCommand,
  classify: async () => (await import('./classify.ts')).classifyCommand,
  'evaluate svm': async () => (await import('./evaluate-classifier.ts')).evaluateSvmCommand,
  'generate ratings': async () => (await import('./generate-ratings.ts')).generateRatingsCommand,
  'generate als-model': async () =>
    (await import('./generate-als-model.ts')).generateAlsModelCommand,
  'generate svm-model': async () =>
    (await import('./generate-svm-model.ts')).generateSvmModelCommand,
  'generate svm-examples': async () =>
    (await import('./generate-svm-examples.ts')).generateSvmExamplesCommand,
  'model load': async () => (await import('./model-load.ts')).modelLoadCommand,
  retrain: async () => (await import('./retrain.ts')).retrainCommand,
  'model list': async () => (await import('./model-list.ts')).modelListCommand,
  'model show': async () => (await import('./model-show.ts')).modelShowCommand,
  'model diff': async () => (await import('./model-diff.ts')).modelDiffCommand,
  'model promote': async () => (await import('./model-promote.ts')).modelPromoteCommand,
  'model rollback': async () => (await import('./model-rollback.ts')).modelRollbackCommand,
  'model export': async () => (await import('./model-export.ts')).modelExportCommand,
  'model import': async () => (await import('./model-import.ts')).modelImportCommand,
  'topic list': async () => (await import('./topic-list.ts')).topicListCommand,
  'topic create': async () => (await import('./topic-create.ts')).topicCreateCommand,
  'topic produce': async () => (await import('./topic-produce.ts')).topicProduceCommand,
  'topic consume': async () => (await import('./topic-consume.ts')).topicConsumeCommand,
  'kafka transactions list': async () =>
    (await import('./kafka-transactions-list.ts')).kafkaTransactionsListCommand,
  'kafka transactions commit': async () =>
    (await import('./kafka-transactions-end.ts')).kafkaTransactionsCommitCommand,
  'kafka transactions abort': async () =>
    (await import('./kafka-transactions-end.ts')).kafkaTransactionsAbortCommand,
}
