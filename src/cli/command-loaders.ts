import type { Command } from './command/command.ts'

/**
 * Functions that load each verb's module, by name, in the order of `weir --help`. A verb starts
 * without the code of the others.
 */
export const COMMAND_LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  quickstart: async () => (await import('./quickstart/quickstart.ts')).quickstartCommand,
  'train als': async () => (await import('./verbs/train-als.ts')).trainAlsCommand,
  'train bmf': async () => (await import('./verbs/train-bmf.ts')).trainBmfCommand,
  'train svm': async () => (await import('./verbs/train-linear.ts')).trainSvmCommand,
  'train logistic': async () => (await import('./verbs/train-linear.ts')).trainLogisticCommand,
  'train popularity': async () =>
    (await import('./verbs/train-popularity.ts')).trainPopularityCommand,
  'learn svm': async () => (await import('./verbs/learn-svm.ts')).learnSvmCommand,
  run: async () => (await import('./verbs/run.ts')).runCommand,
  'jobs test': async () => (await import('./verbs/jobs-test.ts')).jobsTestCommand,
  'learn als': async () => (await import('./verbs/learn-als.ts')).learnAlsCommand,
  'learn resume': async () => (await import('./verbs/learn-resume.ts')).learnResumeCommand,
  gateway: async () => (await import('./verbs/gateway.ts')).gatewayCommand,
  jobmanager: async () => (await import('./jobmanager/jobmanager.ts')).jobManagerCommand,
  'cluster start': async () => (await import('./jobmanager/cluster.ts')).clusterStartCommand,
  'cluster stop': async () => (await import('./jobmanager/cluster.ts')).clusterStopCommand,
  'cluster status': async () => (await import('./jobmanager/cluster.ts')).clusterStatusCommand,
  'kubernetes render': async () => (await import('./kubernetes/render.ts')).kubernetesRenderCommand,
  list: async () => (await import('./jobmanager/list.ts')).listCommand,
  info: async () => (await import('./jobmanager/info.ts')).infoCommand,
  cancel: async () => (await import('./jobmanager/cancel.ts')).cancelCommand,
  stop: async () => (await import('./jobmanager/stop.ts')).stopCommand,
  rescale: async () => (await import('./jobmanager/rescale.ts')).rescaleCommand,
  members: async () => (await import('./jobmanager/members.ts')).membersCommand,
  rebalance: async () => (await import('./jobmanager/rebalance.ts')).rebalanceCommand,
  savepoint: async () => (await import('./jobmanager/savepoint.ts')).savepointCommand,
  checkpoint: async () => (await import('./jobmanager/checkpoint.ts')).checkpointCommand,
  predict: async () => (await import('./verbs/predict.ts')).predictCommand,
  recommend: async () => (await import('./verbs/recommend.ts')).recommendCommand,
  similar: async () => (await import('./verbs/similar.ts')).similarCommand,
  query: async () => (await import('./verbs/query.ts')).queryCommand,
  infer: async () => (await import('./inference/infer.ts')).inferCommand,
  load: async () => (await import('./verbs/load.ts')).loadCommand,
  evaluate: async () => (await import('./verbs/evaluate.ts')).evaluateCommand,
  classify: async () => (await import('./verbs/classify.ts')).classifyCommand,
  'evaluate svm': async () => (await import('./verbs/evaluate-classifier.ts')).evaluateSvmCommand,
  'generate ratings': async () =>
    (await import('./verbs/generate-ratings.ts')).generateRatingsCommand,
  'generate als-model': async () =>
    (await import('./verbs/generate-als-model.ts')).generateAlsModelCommand,
  'generate svm-model': async () =>
    (await import('./verbs/generate-svm-model.ts')).generateSvmModelCommand,
  'generate svm-examples': async () =>
    (await import('./verbs/generate-svm-examples.ts')).generateSvmExamplesCommand,
  'model load': async () => (await import('./verbs/model-load.ts')).modelLoadCommand,
  retrain: async () => (await import('./verbs/retrain.ts')).retrainCommand,
  'model list': async () => (await import('./verbs/model-list.ts')).modelListCommand,
  'model show': async () => (await import('./verbs/model-show.ts')).modelShowCommand,
  'model diff': async () => (await import('./verbs/model-diff.ts')).modelDiffCommand,
  'model promote': async () => (await import('./verbs/model-promote.ts')).modelPromoteCommand,
  'model rollback': async () => (await import('./verbs/model-rollback.ts')).modelRollbackCommand,
  forget: async () => (await import('./verbs/forget.ts')).forgetCommand,
  'model drop': async () => (await import('./verbs/model-drop.ts')).modelDropCommand,
  'model push': async () => (await import('./inference/model-push.ts')).modelPushCommand,
  'model alias': async () => (await import('./inference/model-alias.ts')).modelAliasCommand,
  'model configure': async () =>
    (await import('./inference/model-configure.ts')).modelConfigureCommand,
  'model revisions': async () =>
    (await import('./inference/model-revisions.ts')).modelRevisionsCommand,
  'model unload': async () => (await import('./inference/model-unload.ts')).modelUnloadCommand,
  'model status': async () => (await import('./inference/model-status.ts')).modelStatusCommand,
  'model profile': async () => (await import('./inference/model-profile.ts')).modelProfileCommand,
  'model export': async () => (await import('./verbs/model-export.ts')).modelExportCommand,
  'model import': async () => (await import('./verbs/model-import.ts')).modelImportCommand,
  'checkpoint list': async () => (await import('./verbs/checkpoint-list.ts')).checkpointListCommand,
  'checkpoint verify': async () =>
    (await import('./verbs/checkpoint-verify.ts')).checkpointVerifyCommand,
  'topic list': async () => (await import('./verbs/topic-list.ts')).topicListCommand,
  'topic create': async () => (await import('./verbs/topic-create.ts')).topicCreateCommand,
  'topic produce': async () => (await import('./verbs/topic-produce.ts')).topicProduceCommand,
  'topic consume': async () => (await import('./verbs/topic-consume.ts')).topicConsumeCommand,
  'topic archive': async () => (await import('./verbs/topic-archive.ts')).topicArchiveCommand,
  'log check': async () => (await import('./verbs/log-check.ts')).logCheckCommand,
  'log repair': async () => (await import('./verbs/log-check.ts')).logRepairCommand,
  'kafka transactions list': async () =>
    (await import('./verbs/kafka-transactions-list.ts')).kafkaTransactionsListCommand,
  'kafka transactions commit': async () =>
    (await import('./verbs/kafka-transactions-end.ts')).kafkaTransactionsCommitCommand,
  'kafka transactions abort': async () =>
    (await import('./verbs/kafka-transactions-end.ts')).kafkaTransactionsAbortCommand,
  'token create': async () => (await import('./verbs/token-create.ts')).tokenCreateCommand,
  'token list': async () => (await import('./verbs/token-list.ts')).tokenListCommand,
  'token revoke': async () => (await import('./verbs/token-revoke.ts')).tokenRevokeCommand,
  doctor: async () => (await import('./verbs/doctor.ts')).doctorCommand,
  completion: async () => (await import('./verbs/completion.ts')).completionCommand,
}
