import type { ServedJob } from '../jobmanager/served-job.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import type { ConfigurationMap } from '../runtime/configuration.ts'
import { SlotThreads } from '../runtime/slot-threads.ts'
import { QueryWorkers } from '../serving/query-workers.ts'
import { ALS_SERVING_MODULE } from './als-serving-module.ts'
import { type Command, type CommandIo, Flags, type OptionSpec, UsageError } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from './kafka-flags.ts'
import type { ServeModelOptions } from './serve-model.ts'
import { SVM_SERVING_MODULE } from './svm-serving-module.ts'
import { tellRestarts } from './tell-restarts.ts'

/** Flags of every command that runs a job. */
export const SERVING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  slots: { type: 'string', value: 'N', default: '2', short: 'p', help: 'Slots (parallelism)' },
  'query-threads': {
    type: 'string',
    value: 'N',
    default: '1',
    help: 'Threads that answer queries',
  },
  host: { type: 'string', value: 'HOST', default: '127.0.0.1', help: 'Address to listen on' },
  port: { type: 'string', value: 'PORT', default: '9069', help: 'Port for queries, 0 for any' },
  token: { type: 'string', value: 'TEXT', help: 'Token that clients must show' },
  set: {
    type: 'string',
    short: 'D',
    multiple: true,
    value: 'KEY=VALUE',
    help: "Configuration under Flink's keys (repeatable)",
  },
}

/** `weir run JOB`: runs a job in this process until it ends or is interrupted. */
export const runCommand: Command = {
  name: 'run',
  summary: 'Run a job: als-serving, svm-serving, or a module of your own',
  usage: 'als-serving | svm-serving | ./my-job.ts',
  options: {
    topic: {
      type: 'string',
      value: 'NAME',
      help: 'Model topic (default: als-model, svm-model)',
    },
    dimension: { type: 'string', value: 'N', help: 'Floats of a row (default: from the topic)' },
    option: {
      type: 'string',
      multiple: true,
      value: 'KEY=VALUE',
      help: 'Option of your own job (repeatable)',
    },
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `The job goes on from its latest checkpoint in the data folder, which it finds by its name. Ctrl-C takes
a checkpoint and ends it.

Examples:
  weir run als-serving
  weir run als-serving --brokers localhost:9092
  weir run svm-serving --topic svm-model
  weir run als-serving -D execution.checkpointing.interval=1s -D state.backend.type=leveldb
  weir run ./counts.ts --option input=/tmp/in`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [name] = args
    if (name === undefined) {
      throw new UsageError('give a job: als-serving, svm-serving, or the path of a module')
    }
    await using job = Object.hasOwn(MODEL_JOBS, name)
      ? await runModelJob(name as keyof typeof MODEL_JOBS, flags, io)
      : await runModule(name, flags)
    tellRestarts(job, name, io)
    const report = (event: Record<string, unknown>, sentence: string): void => {
      if (flags.boolean('json')) io.out(JSON.stringify(event))
      else io.err(`${name}: ${sentence}`)
    }
    report(
      { event: 'started', port: job.port },
      `queries on ${flags.string('host')}:${job.port}, Ctrl-C ends it`,
    )
    const ended = job.execution.result.then(({ runtimeMs }) =>
      report({ event: 'finished', runtimeMs }, `finished after ${Math.round(runtimeMs)} ms`),
    )
    await Promise.race([ended, io.interrupted])
    return 0
  },
}

/** `--set key=value` as a map. Throws UsageError. */
export function configurationOf(flags: Flags): ConfigurationMap {
  return pairs(flags.list('set'), '--set')
}

function pairs(words: readonly string[], flag: string): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at <= 0) throw new UsageError(`${flag} takes KEY=VALUE, not "${word}"`)
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}

/** The jobs that serve a model: their modules, topics, and what starts them. */
const MODEL_JOBS = {
  'als-serving': {
    module: ALS_SERVING_MODULE,
    topic: 'als-model',
    serve: async (options: ServeModelOptions) => (await import('./serve-als.ts')).serveAls(options),
    rows: ({ users, items }: ModelVersionMarker) => `${users} users, ${items} items`,
  },
  'svm-serving': {
    module: SVM_SERVING_MODULE,
    topic: 'svm-model',
    serve: async (options: ServeModelOptions) => (await import('./serve-svm.ts')).serveSvm(options),
    rows: ({ items, dimension }: ModelVersionMarker) => `${items} blocks of ${dimension} weights`,
  },
}

/** The threads of slots and queries load their code while this one loads its own. */
async function runModelJob(
  name: keyof typeof MODEL_JOBS,
  flags: Flags,
  io: CommandIo,
): Promise<ServedJob> {
  const threads = new SlotThreads(MODEL_JOBS[name].module, flags.integer('slots', 1))
  const queryWorkers = new QueryWorkers(flags.integer('query-threads', 1, 64))
  try {
    return await startModelJob(name, flags, io, { threads, queryWorkers })
  } catch (error) {
    await Promise.all([threads.close(), queryWorkers.close()])
    throw error
  }
}

async function startModelJob(
  name: keyof typeof MODEL_JOBS,
  flags: Flags,
  io: CommandIo,
  started: Pick<ServeModelOptions, 'threads' | 'queryWorkers'>,
): Promise<ServedJob> {
  const { serve, rows, topic } = MODEL_JOBS[name]
  const dimension = flags.optionalInteger('dimension', 1, 65_536)
  const token = flags.optional('token')
  const report = (event: Record<string, unknown>, sentence: string): void => {
    if (flags.boolean('json')) io.out(JSON.stringify(event))
    else io.err(sentence)
  }
  return await serve({
    ...started,
    data: dataDirectory(flags.string('data-dir')),
    place: topicsPlaceOf(flags),
    topic: flags.optional('topic') ?? topic,
    slots: flags.integer('slots', 1),
    queryThreads: flags.integer('query-threads', 1, 64),
    host: flags.string('host'),
    port: flags.integer('port', 0, 65_535),
    configuration: configurationOf(flags),
    onLive: (version, marker) =>
      report(
        { event: 'live', version, users: marker.users, items: marker.items },
        `${name}: version ${version} is live (${rows(marker)})`,
      ),
    onDropped: (partition, offset, reason) =>
      io.err(`${name}: dropped the record at ${partition}:${offset}: ${reason}`),
    ...(dimension === undefined ? {} : { dimension }),
    ...(token === undefined ? {} : { token }),
  })
}

async function runModule(path: string, flags: Flags): Promise<ServedJob> {
  const data = dataDirectory(flags.string('data-dir'))
  const token = flags.optional('token')
  const [{ loadJobModule }, { ServedJob }, { jobIdOf }] = await Promise.all([
    import('./job-module.ts'),
    import('../jobmanager/served-job.ts'),
    import('./serve-als.ts'),
  ])
  const { url, name } = await loadJobModule(path, Object.keys(MODEL_JOBS))
  return await ServedJob.start({
    module: url,
    jobOptions: pairs(flags.list('option'), '--option'),
    configuration: {
      'parallelism.default': String(flags.integer('slots', 1)),
      'execution.checkpointing.dir': data.checkpoints,
      'execution.checkpointing.interval': '10 s',
      'state.backend.directory': data.state,
      ...configurationOf(flags),
    },
    jobId: jobIdOf(name),
    seed: process.pid,
    queryThreads: flags.integer('query-threads', 1, 64),
    host: flags.string('host'),
    port: flags.integer('port', 0, 65_535),
    ...(token === undefined ? {} : { token }),
  })
}
