import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { OWN_LOG } from '../../cluster/jobmanager/job-manager.ts'
import {
  type JobManagerAddress,
  jobManagerText,
  runningJobManager,
} from '../../cluster/jobmanager/lock.ts'
import { JobLogs } from '../../cluster/jobmanager/logs.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { longRunningFlags } from '../../core/sibling-module.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { JOB_MANAGER_TLS_OPTIONS } from '../cluster/options.ts'
import { RestClient } from '../cluster/rest-client.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  type OptionSpec,
  UsageError,
} from '../command/command.ts'
import { restAddress } from '../flag-kinds/places.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { TOKEN_OPTIONS } from '../flags/token.ts'
import { JOB_MANAGER_SERVER_OPTIONS } from './jobmanager.ts'

/** Time for a JobManager to open its port. */
const START_MS = 60_000
/** Time for a JobManager to end its jobs with a last checkpoint. */
const STOP_MS = 90_000
const POLL_MS = 50
/** The address of a JobManager; without one, that of the data folder is meant. */
const ADDRESS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  jobmanager: {
    type: 'string',
    short: 'm',
    value: restAddress,
    help: 'REST address of the JobManager (default: that of the data folder)',
  },
  ...JOB_MANAGER_TLS_OPTIONS,
  ...TOKEN_OPTIONS,
}
/** Exit status of a command whose words or configuration are wrong. */
const USAGE = 'status 2'

/** `weir cluster start`: starts a JobManager in the background. */
export const clusterStartCommand: Command = {
  name: 'cluster start',
  summary: 'Start a JobManager in the background',
  options: JOB_MANAGER_SERVER_OPTIONS,
  details: `The JobManager writes its log to DATA_DIR/jobmanager/logs/jobmanager.log. It continues the jobs of the last
one. "weir jobmanager" is the same in the foreground.

Examples:
  weir cluster start
  weir cluster start --modules ./jobs --listen 8082`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const folder = folderOf(flags)
    const before = runningJobManager(nodeFileSystem, folder)
    if (before !== undefined) {
      throw new WeirError(
        'ILLEGAL_STATE',
        `${jobManagerText(before)} runs in ${folder} already; stop it with "weir cluster stop", or give another --data-dir`,
      )
    }
    const address = await startInBackground(flags, io, folder)
    const { pid, url } = address
    if (flags.boolean('json')) io.out(JSON.stringify({ event: 'started', pid, url }))
    else io.out(`JobManager started: process ${pid}, REST interface on ${url}`)
    return 0
  },
}

/** `weir cluster stop`: ends the JobManager of a data folder. */
export const clusterStopCommand: Command = {
  name: 'cluster stop',
  summary: 'End the JobManager with a checkpoint of every job',
  options: { ...ADDRESS_OPTIONS, ...DATA_DIR_OPTION },
  details: `The jobs are not cancelled: the next "weir cluster start" continues them. Without --jobmanager it ends the
JobManager of the data folder, which is one of this machine.

Examples:
  weir cluster stop
  weir cluster stop -m host:8081`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const address = flags.optional('jobmanager')
    if (address !== undefined) return await stopAt(address, flags, io)
    const folder = folderOf(flags)
    const running = runningJobManager(nodeFileSystem, folder)
    if (running === undefined) throw notRunning(folder)
    process.kill(running.pid, 'SIGTERM')
    const lastMs = systemClock.monotonicMs() + STOP_MS
    while (runningJobManager(nodeFileSystem, folder) !== undefined) {
      if (systemClock.monotonicMs() > lastMs) {
        throw new WeirError(
          'DEADLINE_EXCEEDED',
          `process ${running.pid} has not ended within ${STOP_MS / 1000} s; its log is in ${folder}/logs`,
        )
      }
      await sleep(systemClock, POLL_MS)
    }
    if (flags.boolean('json')) io.out(JSON.stringify({ event: 'stopped', pid: running.pid }))
    else io.out(`JobManager stopped: process ${running.pid}`)
    return 0
  },
}

/** `weir cluster status`: says whether a JobManager runs, and what it runs. */
export const clusterStatusCommand: Command = {
  name: 'cluster status',
  summary: 'Say whether a JobManager runs and how many jobs it has',
  options: { ...ADDRESS_OPTIONS, ...DATA_DIR_OPTION },
  details: `The exit status is 0 if a JobManager of the data folder, or at --jobmanager, runs and answers, otherwise 1.

Examples:
  weir cluster status
  weir cluster status -m host:8081`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { client, pid, url } = clusterOf(flags)
    const overview = await client.request<Record<string, number>>('GET', '/overview')
    if (flags.boolean('json')) {
      io.out(JSON.stringify({ ...(pid === undefined ? {} : { pid }), url, ...overview }))
    } else {
      const process = pid === undefined ? '' : `process ${pid}, `
      io.out(`JobManager: ${process}REST interface on ${url}`)
      io.out(
        `Jobs: ${overview['jobs-running']} running, ${overview['jobs-finished']} finished, ${overview['jobs-cancelled']} cancelled, ${overview['jobs-failed']} failed; ${overview['slots-total']} slots`,
      )
    }
    return 0
  },
}

/** The JobManager at `--jobmanager`, else that of the data folder. Throws UNAVAILABLE where none runs. */
function clusterOf(flags: Flags): {
  readonly client: RestClient
  readonly pid?: number
  readonly url: string
} {
  const address = flags.optional('jobmanager')
  if (address !== undefined) {
    const client = RestClient.of(flags)
    return { client, url: client.base }
  }
  const folder = folderOf(flags)
  const running = runningJobManager(nodeFileSystem, folder)
  if (running?.url === undefined) throw notRunning(folder)
  const { pid, url } = running
  return { client: RestClient.ofThisMachine(url, flags), pid, url }
}

/** Ends the JobManager at an address, and waits until it no longer answers there. */
async function stopAt(address: string, flags: Flags, io: CommandIo): Promise<number> {
  const client = RestClient.of(flags)
  await client.request('DELETE', '/cluster')
  const lastMs = systemClock.monotonicMs() + STOP_MS
  while (await answers(client)) {
    if (systemClock.monotonicMs() > lastMs) {
      throw new WeirError(
        'DEADLINE_EXCEEDED',
        `the JobManager at ${address} has not ended within ${STOP_MS / 1000} s`,
      )
    }
    await sleep(systemClock, POLL_MS)
  }
  if (flags.boolean('json')) io.out(JSON.stringify({ event: 'stopped', jobmanager: address }))
  else io.out(`JobManager stopped: ${address}`)
  return 0
}

async function answers(client: RestClient): Promise<boolean> {
  try {
    await client.request('GET', '/health/live')
    return true
  } catch (error) {
    if (isWeirError(error, 'UNAVAILABLE')) return false
    throw error
  }
}

function folderOf(flags: Flags): string {
  return join(dataDirectory(flags.string('data-dir')).root, 'jobmanager')
}

function notRunning(folder: string): WeirError {
  return new WeirError(
    'UNAVAILABLE',
    `no JobManager runs in ${folder}; start one with "weir cluster start"`,
  )
}

async function startInBackground(
  flags: Flags,
  io: CommandIo,
  folder: string,
): Promise<JobManagerAddress> {
  const logs = new JobLogs(join(folder, 'logs'))
  const log = logs.openLog(OWN_LOG)
  const child = spawn(
    process.execPath,
    [...longRunningFlags(process.execArgv), process.argv[1]!, 'jobmanager', ...argumentsOf(flags)],
    { detached: true, stdio: ['ignore', log, log], env: io.env },
  )
  logs.closeLog(log)
  let exit: string | undefined
  child.once('exit', (code, signal) => {
    exit = signal ?? `status ${code}`
  })
  child.unref()
  const lastMs = systemClock.monotonicMs() + START_MS
  for (;;) {
    const address = runningJobManager(nodeFileSystem, folder)
    if (address?.url !== undefined && address.pid === child.pid) return address
    if (exit !== undefined || systemClock.monotonicMs() > lastMs) {
      throw notStarted(await lastLine(logs), exit)
    }
    await sleep(systemClock, POLL_MS)
  }
}

/** The error of a JobManager that wrote this line last. Its own usage error is one of this command, too. */
function notStarted(last: string, exit: string | undefined): Error {
  if (exit === USAGE) return new UsageError(last.replace(/^weir: /, ''))
  const how = exit === undefined ? 'opens no port' : `ended (${exit})`
  return new WeirError('CONNECTOR_FAILED', `the JobManager ${how}: ${last}`)
}

async function lastLine(logs: JobLogs): Promise<string> {
  const text = await logs.of(OWN_LOG).read(`${OWN_LOG}.log`)
  return text.trimEnd().split('\n').at(-1) ?? ''
}

/** The flags of this command as words of the command line of `weir jobmanager`. */
function argumentsOf(flags: Flags): readonly string[] {
  return Object.entries(JOB_MANAGER_SERVER_OPTIONS).flatMap(([name, spec]) => {
    // The process gets the environment of this one, which has the secrets.
    if (spec.isSecret === true || !flags.counts(spec)) return []
    if (spec.type === 'boolean') return flags.boolean(name) ? [`--${name}`] : []
    const values = spec.multiple === true ? flags.list(name) : (flags.optional(name) ?? [])
    return [values].flat().map((value) => `--${name}=${value}`)
  })
}
