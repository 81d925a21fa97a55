import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { JobManager } from '../../cluster/jobmanager/job-manager.ts'
import { DEFAULT_MAX_JOBS } from '../../cluster/jobmanager/job-share.ts'
import { JOB_MANAGER_TITLE, JobManagerLock } from '../../cluster/jobmanager/lock.ts'
import { JobLogs } from '../../cluster/jobmanager/logs.ts'
import type { JobRecord } from '../../cluster/jobmanager/store/job-record.ts'
import { JobStore } from '../../cluster/jobmanager/store/job-store.ts'
import { processSnapshot } from '../../cluster/rest/job/process-snapshot.ts'
import { systemClock } from '../../core/clock.ts'
import { seededRandom } from '../../core/random.ts'
import { longRunningFlags } from '../../core/sibling-module.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { AllowedHosts } from '../../http/access/allowed-hosts.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import { EXPONENTIAL_DELAY } from '../../runtime/configuration/restart-strategy.ts'
import { checkSubmission, type JobCommands, wordsOf } from '../cluster/job-command.ts'
import { rightsText, type SubmissionRights } from '../cluster/submission-rights.ts'
import { type Command, type CommandIo, Flags, type OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { splitPair } from '../flag-kinds/pairs.ts'
import { addresses, addressToOpen, host, hostAndPort, input } from '../flag-kinds/places.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'
import { LISTENER_OPTIONS, listenerOf } from '../flags/listener.ts'
import { keyValuesOf, SERVING_OPTIONS } from '../flags/serving.ts'
import { openRest } from '../serve/open-rest.ts'
import { packageVersion } from '../text/package-version.ts'
import { learnAlsCommand } from '../verbs/learn-als.ts'
import { learnSvmCommand } from '../verbs/learn-svm.ts'
import { runCommand } from '../verbs/run.ts'

/** Flags of a JobManager, in the foreground and in the background. */
export const JOB_MANAGER_SERVER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  modules: {
    type: 'string',
    multiple: true,
    value: input('FOLDER'),
    help: 'Folder of modules that jobs may run, as jobs or as models (repeatable; default: none)',
  },
  'allow-files': {
    type: 'string',
    multiple: true,
    value: input('FOLDER'),
    help: 'Folder below which submissions may name files, besides the data folder (repeatable)',
  },
  'allow-remote': {
    type: 'string',
    value: addresses,
    help: 'Brokers and NameNodes that submissions may name, besides those of --brokers',
  },
  'max-jobs': {
    type: 'string',
    value: wholeNumber({ min: 1, max: 4096 }),
    default: String(DEFAULT_MAX_JOBS),
    help: 'Jobs that may run at a time; one token or other address has at most half of them',
  },
  brokers: { ...KAFKA_OPTIONS['brokers']!, help: 'Kafka brokers that jobs may use' },
  listen: {
    type: 'string',
    value: addressToOpen,
    parts: (text) => {
      const { host, port } = hostAndPort(text)
      return { host, set: [`rest.bind-address=${host}`, `rest.port=${port}`] }
    },
    help: 'REST interface, HOST:PORT or a port of this machine, 0 for any free one; a host that other machines reach needs TLS and tokens (default: 127.0.0.1:8081)',
  },
  host: {
    type: 'string',
    value: host,
    default: '127.0.0.1',
    help: 'Older form of --listen: the host',
  },
  ...LISTENER_OPTIONS,
  'log-format': SERVING_OPTIONS['log-format']!,
  set: SERVING_OPTIONS['set']!,
  ...DATA_DIR_OPTION,
}

/** Jobs that a JobManager runs. */
export const COMMANDS: JobCommands = {
  'als-serving': { words: ['run', 'als-serving'], options: runCommand.options },
  'svm-serving': { words: ['run', 'svm-serving'], options: runCommand.options },
  histories: { words: ['run', 'histories'], options: runCommand.options },
  'online-als': { words: ['learn', 'als'], options: learnAlsCommand.options },
  'online-svm': { words: ['learn', 'svm'], options: learnSvmCommand.options },
  module: { words: ['run'], options: runCommand.options },
}

/** `weir jobmanager`: runs many jobs, each in a separate process, until Ctrl-C. */
export const jobManagerCommand: Command = {
  name: 'jobmanager',
  summary: 'Run a JobManager in the foreground: many jobs, each in a separate process',
  stopsItself: true,
  options: JOB_MANAGER_SERVER_OPTIONS,
  details: `The JobManager keeps what it runs in DATA_DIR/jobmanager. Ctrl-C takes a checkpoint of every job and ends
the processes; the next start continues the jobs. A process that is lost is started again from its newest
checkpoint. In weir.yaml, rest.port and rest.bind-address say where it listens.

Examples:
  weir jobmanager
  weir jobmanager --modules ./jobs --listen 8082
  weir run -d als-serving`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    process.title = JOB_MANAGER_TITLE
    const folder = join(dataDirectory(flags.string('data-dir')).root, 'jobmanager')
    using lock = JobManagerLock.take(nodeFileSystem, folder, {
      pid: process.pid,
      sinceMs: systemClock.nowMs(),
    })
    const rights = rightsOf(flags)
    const manager = await startManager(flags, io, { folder, rights })
    await using rest = await openRestOf(manager, flags, io)
    lock.write(rest.url)
    const json = flags.boolean('json')
    if (json) io.out(JSON.stringify({ event: 'started', url: rest.url }))
    else {
      io.err(`jobmanager: REST interface on ${rest.url}; press Ctrl-C to stop`)
      io.err(`jobmanager: ${rightsText(rights)}`)
    }
    await Promise.race([io.interrupted, manager.stopped])
    if (!json) io.err('jobmanager: ending every job with a checkpoint')
    await manager.end()
    return 0
  },
}

/** What submissions may reach, as the flags say. Throws INVALID_ARGUMENT, ACCESS_DENIED. */
function rightsOf(flags: Flags): SubmissionRights {
  const remote = [flags.optional('allow-remote'), flags.optional('brokers')]
  const hosts = remote.flatMap((text) =>
    text === undefined ? [] : [...AllowedHosts.parse(text, '--allow-remote').places],
  )
  return {
    modules: flags.list('modules'),
    files: [dataDirectory(flags.string('data-dir')).root, ...flags.list('allow-files')],
    hosts: new AllowedHosts(hosts),
    host: flags.string('host'),
    listener: ownListener(flags),
  }
}

/** The flags of this process about who may use its ports, with absolute paths. */
function ownListener(flags: Flags): Readonly<Record<string, string | boolean>> {
  const given: [string, string | boolean][] = []
  for (const [name, { type, isSecret }] of Object.entries(LISTENER_OPTIONS)) {
    const file = flags.optional(name)
    if (type === 'boolean' && flags.boolean(name)) given.push([name, true])
    else if (isSecret !== true && file !== undefined) given.push([name, resolve(file)])
  }
  return Object.fromEntries(given)
}

interface ManagerPlace {
  readonly folder: string
  readonly rights: SubmissionRights
}

async function startManager(
  flags: Flags,
  io: CommandIo,
  { folder, rights }: ManagerPlace,
): Promise<JobManager> {
  const configuration = keyValuesOf(flags, 'set')
  const root = dataDirectory(flags.string('data-dir')).root
  return await JobManager.start({
    version: packageVersion(),
    configuration,
    clock: systemClock,
    random: seededRandom(randomBytes(4).readUInt32LE()),
    store: new JobStore(nodeFileSystem, join(folder, 'jobs')),
    logs: new JobLogs(join(folder, 'logs')),
    program: {
      script: process.argv[1]!,
      nodeFlags: longRunningFlags(process.execArgv),
      env: io.env,
    },
    process: processSnapshot,
    maxJobs: flags.number('max-jobs'),
    say: (sentence) => io.err(`jobmanager: ${sentence}`),
    check: (submission) => checkSubmission(submission, COMMANDS, rights),
    strategyOf: ({ submission }) => {
      const { set = [] } = submission.options
      const keys = Array.isArray(set) ? set : []
      const own = Object.fromEntries(keys.map((text: string) => splitPair(text)))
      return parseConfiguration({ ...configuration, ...own }).restart ?? EXPONENTIAL_DELAY
    },
    argsOf: (record) => argumentsOf(record, root, rights),
  })
}

function argumentsOf(
  { submission, queryPort, submittedMs }: JobRecord,
  root: string,
  { listener }: SubmissionRights,
): readonly string[] {
  const { job, options } = submission
  const keys = {
    ...Object.fromEntries([options['set'] ?? []].flat().map((text) => splitPair(String(text)))),
    // Else a process that is started again would go back to the savepoint of the submission.
    'execution.state-recovery.only-first-start': 'true',
    'execution.state-recovery.submitted-ms': String(submittedMs),
  }
  const all = {
    'data-dir': root,
    ...options,
    // The query port of a job is as closed as the port that the job came through.
    ...listener,
    set: Object.entries(keys).map(([key, value]) => `${key}=${value}`),
    ...(queryPort === undefined ? {} : { port: String(queryPort) }),
  }
  return wordsOf({ job, options: all }, COMMANDS)
}

function openRestOf(manager: JobManager, flags: Flags, io: CommandIo) {
  const { rest } = parseConfiguration(keyValuesOf(flags, 'set'))
  const access = listenerOf(flags, io)
  return openRest({
    cluster: manager,
    access,
    host: flags.string('host') === '127.0.0.1' ? rest.address : flags.string('host'),
    ports: rest.ports ?? { first: 8081, last: 8081 },
  })
}
