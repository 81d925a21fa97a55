import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import type { ServeAlsOptions } from '../../jobs/serve/als.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { ALS_SERVING_MODULE, SVM_SERVING_MODULE } from '../../jobs/serve/job-modules.ts'
import type { ServeModelOptions } from '../../jobs/serve/model.ts'
import type { ServedJob } from '../../jobs/served-job.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { SlotThreads } from '../../runtime/slot/threads.ts'
import { QueryWorkers } from '../../serving/threads/workers.ts'
import { DETACH_OPTIONS } from '../cluster/options.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  needs,
  UsageError,
  unlessInterrupted,
} from '../command/command.ts'
import { size, wholeNumber } from '../flag-kinds/numbers.ts'
import { keyValue } from '../flag-kinds/pairs.ts'
import { addressToOpen, jobOf, path } from '../flag-kinds/places.ts'
import { name, topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import { ALLOW_ORIGIN, listenerOf, MODEL_CONTROL_OPTIONS } from '../flags/listener.ts'
import {
  configurationOf,
  keyValuesOf,
  RESTORE_OPTIONS,
  SERVING_OPTIONS,
  slotsOf,
} from '../flags/serving.ts'
import { NAMED_JOBS, requireJobFlags } from '../serve/job-flags.ts'
import { type JobLog, jobLogOf } from '../serve/job-log.ts'
import { droppedReporter } from '../serve/report-dropped.ts'
import { liveEvent, liveText } from '../serve/version-live.ts'
import { counted } from '../text/counted.ts'

/** `weir run`: runs a job in this process until it finishes or Ctrl-C stops it. */
export const runCommand: Command = {
  name: 'run',
  summary: 'Run a job: als-serving, svm-serving, histories, models, or your own module',
  positions: [
    {
      value: jobOf(NAMED_JOBS),
      beside: { detached: name('JOB') },
    },
  ],
  stopsItself: true,
  options: {
    topic: {
      type: 'string',
      value: topicName,
      help: 'Model topic (default: als-model or svm-model); observations of histories (default: observations)',
    },
    quarantine: {
      type: 'string',
      value: topicName,
      help: 'Topic for ratings that histories refuses (default: they are counted and dropped)',
    },
    tags: {
      type: 'string',
      value: topicName,
      help: 'Topic of the tags of items, lines "item,tag;tag", for rules in lists (als-serving; default: no rules)',
    },
    dimension: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      help: 'Floats of a row (default: read from the topic)',
    },
    option: {
      type: 'string',
      multiple: true,
      value: keyValue,
      help: 'Option for your own job (repeatable)',
    },
    'check-types': {
      type: 'boolean',
      help: 'Check the types of your own job with TypeScript before it starts: Node removes types and checks none',
    },
    repository: {
      type: 'string',
      value: path('DIR'),
      default: 'models',
      help: 'Folder of the models of "models", and of a job that asks models: NAME/VERSION/model.onnx',
    },
    memory: {
      type: 'string',
      value: size(2 ** 20, '1mb'),
      help: 'Memory for all models of the folder, such as 2GiB: idle ones are evicted (default: no limit)',
    },
    'remote-keys': {
      type: 'string',
      value: path(),
      help: 'File that says where the keys of model servers are: https://HOST: { env: NAME } or { file: PATH } (default: no key is sent)',
    },
    http: {
      type: 'string',
      value: addressToOpen,
      help: 'Serve "models" over HTTP, too: the Open Inference Protocol without a "weir gateway"',
    },
    grpc: {
      type: 'string',
      needs: [needs('http')],
      value: addressToOpen,
      help: 'Serve "models" over gRPC, too, beside --http: the Open Inference Protocol, with streams',
    },
    'allow-origin': { ...ALLOW_ORIGIN, needs: [needs('http')] },
    'scale-out': {
      type: 'boolean',
      needs: [needs('brokers')],
      excludes: [
        ...['detached', 'http', 'grpc', 'query-threads', 'titles'],
        ...['allow-non-restored-state', 'take-over'],
      ],
      help: 'Be one of the processes of a job of your own: those with the same application.id share it, in a group of Kafka',
    },
    processes: {
      type: 'string',
      needs: [needs('scale-out')],
      value: wholeNumber({ min: 1, max: 64 }),
      help: 'Start so many processes of the job on this machine, and start those again that are lost (default: 1)',
    },
    health: {
      type: 'string',
      needs: [needs('scale-out')],
      value: addressToOpen,
      help: 'Answer /health/live, /health/ready and /health/startup of a supervisor here, HOST:PORT; without addresses or data, so without a token (default: no port)',
    },
    ...MODEL_CONTROL_OPTIONS,
    ...KEY_LENGTH_OPTION,
    ...SERVING_OPTIONS,
    ...DETACH_OPTIONS,
    ...RESTORE_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `The job continues from its latest checkpoint in the data folder, which it finds by the job's name. Ctrl-C
takes a checkpoint and stops the job. A second start of a job in a data folder is refused while the first
runs: give two jobs two folders (--data-dir), or end the first with --take-over. "histories" keeps the items that each
user rated, for the recommender routes of "weir gateway" and for "weir recommend". "models" serves the models
of any kind in --repository, and follows the folder: a new version is swapped in ("weir model push"). With
execution.checkpointing.interval it keeps the states of sequences over a restart. Your own job asks the models of
the same folder with "infer". An error that cannot pass ends it with exit status 1.

Examples:
  weir run als-serving
  weir run als-serving --brokers localhost:9092
  weir run als-serving --tags item-tags
  weir run -d als-serving
  weir run svm-serving --topic svm-model
  weir run histories --topic observations --listen 9070
  weir run models --repository models --http 127.0.0.1:8080 --grpc 127.0.0.1:8081
  weir run als-serving -D execution.checkpointing.interval=1s -D state.backend.type=leveldb
  weir run ./counts.ts --option input=/tmp/in --check-types
  weir run als-serving --restore-from 2
  weir run ./scores.ts --repository models
  weir run ./counts.ts --scale-out --brokers localhost:9092 -D execution.checkpointing.dir=hdfs://namenode:9870/weir
  weir run ./counts.ts --restore-from .weir/checkpoints/savepoints/savepoint-1a2b3c-0123456789ab`,
  async helpFor([job]) {
    if (job === undefined || !existsSync(job)) return undefined
    const { jobOptionsHelp, loadJobModule } = await import('../serve/job-module.ts')
    return jobOptionsHelp((await loadJobModule(job)).definition)
  },
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const name = args[0]!
    if (flags.boolean('detached') && name === MODELS) throw new UsageError(MODELS_DETACHED)
    requireJobFlags(name, runCommand.options, values)
    if (flags.boolean('detached')) {
      const { submitDetached } = await import('../cluster/submit.ts')
      const job = existsSync(name) ? resolve(name) : name
      return await submitDetached(job, runCommand.options, { flags: values, io })
    }
    if (flags.boolean('scale-out')) {
      const { runScaleOut } = await import('../serve/run-scale-out.ts')
      return await runScaleOut(name, flags, io)
    }
    if (name === MODELS) {
      const { runModels } = await import('../inference/run-models.ts')
      return await runModels(flags, io)
    }
    // Few starts name files, so the code that looks at them is loaded for those alone.
    if ((flags.optional('titles') ?? flags.optional('restore-from')) !== undefined) {
      const { requireServingFiles } = await import('../serve/required-files.ts')
      await requireServingFiles(flags, io)
    }
    const started = Object.hasOwn(MODEL_JOBS, name)
      ? runModelJob(name as keyof typeof MODEL_JOBS, flags, io)
      : name === HISTORIES
        ? runHistories(flags, io)
        : runModule(name, flags, io)
    await using job = await unlessInterrupted(started, io)
    const { reportRestarts } = await import('../serve/report-restarts.ts')
    reportRestarts(job, logOf(name, flags, io))
    const report = reporterOf(name, flags, io)
    report(
      { event: 'started', port: job.port },
      `serving queries on ${flags.string('host')}:${job.port}; press Ctrl-C to stop`,
    )
    const { showWhenRunning } = await import('../serve/show-when-running.ts')
    await using shown = await showWhenRunning(job, flags, { name, io, report })
    const ended = job.execution.result.then(({ runtimeMs }) =>
      report({ event: 'finished', runtimeMs }, `finished after ${Math.round(runtimeMs)} ms`),
    )
    await Promise.race([ended, io.interrupted, shown.lost])
    const { endJob } = await import('../serve/end-job.ts')
    await endJob(job, report)
    return 0
  },
}

function logOf(name: string, flags: Flags, io: CommandIo): JobLog {
  return jobLogOf(name, flags, io)
}

/** Prints an event as JSON, or as a line of the log. */
function reporterOf(name: string, flags: Flags, io: CommandIo) {
  const log = logOf(name, flags, io)
  return (event: Record<string, unknown>, sentence: string): void => {
    if (flags.boolean('json')) io.out(JSON.stringify(event))
    else log.info(sentence)
  }
}

/** The jobs that serve a model. */
const MODEL_JOBS = {
  'als-serving': {
    module: ALS_SERVING_MODULE,
    topic: 'als-model',
    serve: async (options: ServeAlsOptions) =>
      (await import('../../jobs/serve/als.ts')).serveAlsJob(options),
    sizeOf: ({ users, items }: ModelVersionMarker) =>
      `${counted(users, 'user')}, ${counted(items, 'item')}`,
  },
  'svm-serving': {
    module: SVM_SERVING_MODULE,
    topic: 'svm-model',
    serve: async (options: ServeModelOptions) =>
      (await import('../../jobs/serve/svm.ts')).serveSvmJob(options),
    sizeOf: ({ items, dimension }: ModelVersionMarker) =>
      `${counted(items, 'block')} of ${counted(dimension, 'weight')}`,
  },
}

/** The job that keeps the histories of users. */
const HISTORIES = 'histories'

/** The process that serves models of any kind. */
const MODELS = 'models'
/** Its folder may have modules, and a JobManager runs only those of --modules. */
const MODELS_DETACHED = '"models" runs in this process: leave out --detached'

type ModelJobName = keyof typeof MODEL_JOBS

/**
 * Starts a job that serves a model. Its slot and query threads start first, so that they load their
 * code while this thread loads its own; they are closed if the job does not start.
 */
async function runModelJob(name: ModelJobName, flags: Flags, io: CommandIo): Promise<ServedJob> {
  const slots = slotsOf(flags)
  const queryThreads = flags.number('query-threads')
  await using started = new ResourceStack()
  const threads = new SlotThreads(MODEL_JOBS[name].module, slots)
  started.defer(() => threads.close())
  const queryWorkers = new QueryWorkers(queryThreads)
  started.defer(() => queryWorkers.close())
  const options = modelJobOptions(name, flags, io)
  const job = await MODEL_JOBS[name].serve({
    ...options,
    slots,
    queryThreads,
    threads,
    queryWorkers,
  })
  started.move()
  return job
}

function modelJobOptions(
  name: ModelJobName,
  flags: Flags,
  io: CommandIo,
): Omit<ServeAlsOptions, 'slots' | 'queryThreads'> {
  const { sizeOf, topic } = MODEL_JOBS[name]
  const dimension = flags.optionalNumber('dimension')
  const tags = flags.optional('tags')
  const log = logOf(name, flags, io)
  const report = reporterOf(name, flags, io)
  return {
    data: dataDirectory(flags.string('data-dir')),
    place: topicsPlaceOf(flags),
    topic: flags.optional('topic') ?? topic,
    ...(name === 'als-serving' ? { maxKeyBytes: maxKeyBytesOf(flags) } : {}),
    access: listenerOf(flags, io),
    port: flags.number('port'),
    configuration: configurationOf(flags),
    onLive: (version, marker, rows) =>
      report(
        liveEvent(version, marker, rows),
        liveText(version, marker, { rows, size: sizeOf(marker) }),
      ),
    onWarning: (warning) => log.warn(`warning: ${warning}`),
    onDropped: droppedReporter(log, systemClock),
    // A job that only serves keeps nothing that another one of the same topic would miss: several may run.
    ...(io.jobManager === undefined ? {} : { jobId: io.jobManager.jobId }),
    ...(dimension === undefined ? {} : { dimension }),
    ...(tags === undefined ? {} : { tags }),
  }
}

async function runHistories(flags: Flags, io: CommandIo): Promise<ServedJob> {
  const { serveHistories } = await import('../../jobs/serve/histories.ts')
  return await serveHistories({
    ...servedOptions(flags, io),
    place: topicsPlaceOf(flags),
    observations: flags.optional('topic') ?? 'observations',
    quarantine: flags.optional('quarantine'),
    onWarning: (warning) => logOf(HISTORIES, flags, io).warn(`warning: ${warning}`),
    maxKeyBytes: maxKeyBytesOf(flags),
  })
}

/** Says that a submission begins from nothing where the same job has gone on in the foreground. */
async function warnOfForeground(
  name: string,
  configuration: Readonly<Record<string, string>>,
  { flags, io }: { readonly flags: Flags; readonly io: CommandIo },
): Promise<void> {
  const jobId = io.jobManager?.jobId
  const checkpoints = configuration['execution.checkpointing.dir']
  if (jobId === undefined || checkpoints === undefined || flags.optional('restore-from')) return
  const { foregroundCheckpoint } = await import('../../jobs/serve/foreground-checkpoint.ts')
  const newest = await foregroundCheckpoint({ checkpoints, name, jobId })
  if (newest === undefined) return
  logOf(name, flags, io).warn(
    `warning: a submission begins from nothing, and job "${name}" has checkpoints of its runs in the foreground; submit it with --restore-from ${newest} to go on from the newest`,
  )
}

/** The options of a job that serves no model. */
function servedOptions(flags: Flags, io: CommandIo) {
  const data = dataDirectory(flags.string('data-dir'))
  return {
    configuration: {
      'parallelism.default': String(slotsOf(flags)),
      'execution.checkpointing.dir': data.checkpoints,
      'execution.checkpointing.interval': '10 s',
      'state.backend.directory': data.state,
      ...configurationOf(flags),
    },
    queryThreads: flags.number('query-threads'),
    ...listenerOf(flags, io),
    port: flags.number('port'),
  }
}

async function runModule(path: string, flags: Flags, io: CommandIo): Promise<ServedJob> {
  const [
    { checkedOptions },
    { loadJobModule, logOptions },
    { ServedJob },
    { jobIdOf },
    { jobModelsOf },
  ] = await Promise.all([
    import('../../dataflow/job/definition.ts'),
    import('../serve/job-module.ts'),
    import('../../jobs/served-job.ts'),
    import('../../jobs/serve/als.ts'),
    import('../inference/job-models.ts'),
  ])
  if (flags.boolean('check-types')) {
    const { checkTypes } = await import('../serve/check-types.ts')
    await checkTypes(path)
  }
  const log = logOf(path, flags, io)
  const { url, definition } = await loadJobModule(path, (warning) =>
    log.warn(`warning: ${warning}`),
  )
  const { name } = definition
  const options = servedOptions(flags, io)
  await warnOfForeground(name, options.configuration, { flags, io })
  return await ServedJob.start({
    ...options,
    module: url,
    // A wrong option is reported before anything starts.
    jobOptions: checkedOptions(definition, {
      ...logOptions(definition, dataDirectory(flags.string('data-dir')).log),
      ...keyValuesOf(flags, 'option'),
    }),
    jobId: io.jobManager?.jobId ?? jobIdOf(name),
    askedModels: jobModelsOf(flags, io, reporterOf(name, flags, io)),
    seed: process.pid,
  })
}
