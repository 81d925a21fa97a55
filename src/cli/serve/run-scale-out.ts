import { Probes } from '../../cluster/scale-out/health/probes.ts'
import {
  type StopRecord,
  StopRecords,
  stoppedSentence,
} from '../../cluster/scale-out/operations/stop-records.ts'
import type { ProcessEvent } from '../../cluster/scale-out/process-events.ts'
import { type StartScaleOutOptions, startScaleOut } from '../../cluster/scale-out/start.ts'
import { systemClock } from '../../core/clock.ts'
import { checkedOptions } from '../../dataflow/job/definition.ts'
import { queryAccessOf, watchQueryAccess } from '../../jobs/query-access.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { type ConfigurationMap, parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type CommandIo, type Flags, UsageError, unlessInterrupted } from '../command/command.ts'
import { addressOf } from '../flag-kinds/places.ts'
import { kafkaOptionsOf } from '../flags/kafka.ts'
import { listenerOf } from '../flags/listener.ts'
import { configurationOf, keyValuesOf, slotsOf } from '../flags/serving.ts'
import { packageVersion } from '../text/package-version.ts'
import { partitionsText } from '../text/partitions-text.ts'
import { type JobLog, jobLogOf } from './job-log.ts'
import { loadJobModule, logOptions } from './job-module.ts'
import { queryPortOf, requireManyPorts } from './query-port.ts'
import { runProcesses, starterGone } from './run-processes.ts'
import { serveScaleOutRest } from './scale-out-rest.ts'

const DEFAULT_PARTITIONS = 24
const ONE_PORT = '--health is the port of one process: leave it out with --processes'
const ONE_NAME = 'group.instance.id names one process: leave it out with --processes'
const ONE_SERVER = 'application.server names one process: leave it out with --processes'

/**
 * `weir run --scale-out`: runs this process's part of a job until Ctrl-C hands it over to the other processes. Throws
 * UsageError, and as `startScaleOut`.
 */
export async function runScaleOut(path: string, flags: Flags, io: CommandIo): Promise<number> {
  const log = jobLogOf(path, flags, io)
  const { url, definition } = await loadJobModule(path, (warning) =>
    log.warn(`warning: ${warning}`),
  )
  const data = dataDirectory(flags.string('data-dir'))
  // `--restore-from` names the record of a stopped job, which no partition restores.
  const { 'execution.state-recovery.path': from, ...given } = configurationOf(flags)
  const configuration = {
    'execution.checkpointing.dir': data.checkpoints,
    'execution.checkpointing.interval': '1 s',
    'state.backend.directory': data.state,
    ...given,
  }
  const { scaleOut, queryTls } = parseConfiguration(configuration)
  const processes = flags.optionalNumber('processes') ?? 1
  if (processes > 1) {
    if (scaleOut.groupInstanceId !== undefined) throw new UsageError(ONE_NAME)
    if (flags.has('health')) throw new UsageError(ONE_PORT)
    if (scaleOut.applicationServer !== undefined) throw new UsageError(ONE_SERVER)
    requireManyPorts(flags)
    return await runProcesses(processes, io, log)
  }
  const applicationId = scaleOut.applicationId ?? definition.name
  const partitions = scaleOut.partitions ?? DEFAULT_PARTITIONS
  const report = reporterOf(log, flags, io)
  const place = configuration['execution.checkpointing.dir']
  const stopped = await stoppedJob(new StopRecords(place, applicationId), from)
  if (stopped !== undefined) {
    const sentence = stoppedSentence(applicationId, stopped)
    report({ event: 'stopped', ...stopped }, sentence)
    return 0
  }
  report(
    { event: 'started', pid: process.pid, applicationId, partitions, checkpoints: place },
    `a process of "${applicationId}", which has ${partitions} job partitions; all processes must reach its checkpoints: ${place}`,
  )
  const listener = listenerOf(flags, io)
  const access = await queryAccessOf(listener, queryTls)
  const probes = new Probes()
  // Before the process starts, so that one that waits for Kafka is seen to live.
  await using _health = await openHealth(probes, flags, report)
  const started = startScaleOut({
    module: url,
    jobOptions: checkedOptions(definition, {
      ...logOptions(definition, data.log),
      ...keyValuesOf(flags, 'option'),
    }),
    configuration,
    kafka: requireBrokers(flags),
    ...{ applicationId, partitions },
    threads: slotsOf(flags),
    version: packageVersion(),
    ...restOf(path, { flags, io, configuration, report }),
    listener: (event) => show(event, log, report),
    warn: (sentence) => log.warn(`warning: ${sentence}`),
    queries: { ...queryPortOf(flags, scaleOut.applicationServer), ...access },
  })
  await using running = await unlessInterrupted(started, io)
  const { process: member, control, queryAddress } = running
  probes.follow(running)
  const cancelWatch = watchQueryAccess(listener, access.access, running.replaceAccess)
  using _watch = { [Symbol.dispose]: cancelWatch }
  report({ event: 'listening', address: queryAddress }, `answers queries at ${queryAddress}`)
  await Promise.race([member.ended, io.interrupted, starterGone()])
  const record = control.stopRecord
  if (record !== undefined) {
    report({ event: 'stopped', ...record }, stoppedSentence(applicationId, record))
  } else report({ event: 'stopping' }, 'stopping: the job partitions are handed over')
  await member.leave()
  return 0
}

/** The record for which a job does not run; undefined for one that does, also because `--restore-from` lets it. */
async function stoppedJob(
  records: StopRecords,
  from: string | undefined,
): Promise<StopRecord | undefined> {
  return from === undefined ? await records.newest() : await records.release(from)
}

/** What the process needs for its REST interface. */
function restOf(
  name: string,
  {
    flags,
    io,
    configuration,
    report,
  }: {
    readonly flags: Flags
    readonly io: CommandIo
    readonly configuration: ConfigurationMap
    readonly report: Report
  },
): Pick<StartScaleOutOptions, 'token' | 'openRest'> {
  const access = listenerOf(flags, io)
  const opened = (url: string): void =>
    report({ event: 'rest', url }, `the REST interface, which shows all processes, is at ${url}`)
  return {
    token: access.token,
    openRest: (control) => serveScaleOutRest(control, { name, io, access, configuration, opened }),
  }
}

/** Opens the port of `--health`; undefined without the flag. */
async function openHealth(
  probes: Probes,
  flags: Flags,
  report: Report,
): Promise<AsyncDisposable | undefined> {
  const address = flags.optional('health')
  if (address === undefined) return undefined
  const { HealthPort } = await import('../../cluster/scale-out/health/port.ts')
  const { host, port } = addressOf(address)
  const opened = await HealthPort.open({ host, port, probes, clock: systemClock })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${opened.port}/health/`
  report({ event: 'health', url }, `answers supervisors on ${url}`)
  return opened
}

/** Reports an event, or its sentence. */
type Report = (event: Record<string, unknown>, sentence: string) => void

function reporterOf(log: JobLog, flags: Flags, io: CommandIo): Report {
  return (event, sentence) => {
    if (flags.boolean('json')) io.out(JSON.stringify(event))
    else log.info(sentence)
  }
}

function show(event: ProcessEvent, log: JobLog, report: Report): void {
  switch (event.kind) {
    case 'joined': {
      const { generation, memberId, isLeader, active, release } = event
      const sentence = `generation ${generation}: owns job partitions ${partitionsText(active)}${release.length === 0 ? '' : `, hands over ${partitionsText(release)}`}${isLeader ? ' (it assigns)' : ''}`
      report({ event: 'joined', generation, memberId, isLeader, active, release }, sentence)
      return
    }
    case 'running':
      report({ event: 'running', partition: event.partition }, `partition ${event.partition} runs`)
      return
    case 'released':
      report(
        { event: 'released', partition: event.partition },
        `partition ${event.partition} is handed over`,
      )
      return
    case 'failed': {
      const { partition, error } = event
      const sentence = `partition ${partition} is given back: ${error.code}: ${error.message}`
      log.error(sentence, { error })
      return
    }
    case 'lost':
      log.warn(`the group has removed this process; it joins again: ${event.error.message}`, {
        error: event.error,
      })
      return
    case 'warning': {
      const { partition, error } = event
      const what = partition === undefined ? '' : `partition ${partition}: `
      log.warn(`warning: ${what}${error.code}: ${error.message}`, { error })
      return
    }
    case 'removed':
      report(
        { event: 'removed', memberId: event.memberId },
        `process ${event.memberId} has ended; it is removed from the group`,
      )
      return
    case 'left':
      report({ event: 'left' }, 'left the group')
  }
}

function requireBrokers(flags: Flags) {
  const kafka = kafkaOptionsOf(flags)
  if (kafka === undefined) throw new UsageError('--scale-out needs --brokers HOST:PORT')
  return kafka
}
