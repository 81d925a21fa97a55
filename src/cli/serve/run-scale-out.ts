import type { ProcessEvent } from '../../cluster/scale-out/process-events.ts'
import { startScaleOut } from '../../cluster/scale-out/start.ts'
import { checkedOptions } from '../../dataflow/job/definition.ts'
import { queryAccessOf, watchQueryAccess } from '../../jobs/query-access.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type CommandIo, type Flags, UsageError, unlessInterrupted } from '../command/command.ts'
import { kafkaOptionsOf } from '../flags/kafka.ts'
import { listenerOf } from '../flags/listener.ts'
import { configurationOf, keyValuesOf, slotsOf } from '../flags/serving.ts'
import { packageVersion } from '../text/package-version.ts'
import { type JobLog, jobLogOf } from './job-log.ts'
import { loadJobModule, logOptions } from './job-module.ts'
import { queryPortOf, requireManyPorts } from './query-port.ts'
import { runProcesses, starterGone } from './run-processes.ts'

const DEFAULT_PARTITIONS = 24
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
  const configuration = {
    'execution.checkpointing.dir': data.checkpoints,
    'execution.checkpointing.interval': '1 s',
    'state.backend.directory': data.state,
    ...configurationOf(flags),
  }
  const { scaleOut, queryTls } = parseConfiguration(configuration)
  const processes = flags.optionalNumber('processes') ?? 1
  if (processes > 1) {
    if (scaleOut.groupInstanceId !== undefined) throw new UsageError(ONE_NAME)
    if (scaleOut.applicationServer !== undefined) throw new UsageError(ONE_SERVER)
    requireManyPorts(flags)
    return await runProcesses(processes, io, log)
  }
  const applicationId = scaleOut.applicationId ?? definition.name
  const partitions = scaleOut.partitions ?? DEFAULT_PARTITIONS
  const report = reporterOf(log, flags, io)
  const place = configuration['execution.checkpointing.dir']
  report(
    { event: 'started', pid: process.pid, applicationId, partitions, checkpoints: place },
    `a process of "${applicationId}", which has ${partitions} job partitions; all processes must reach its checkpoints: ${place}`,
  )
  const listener = listenerOf(flags, io)
  const access = await queryAccessOf(listener, queryTls)
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
    listener: (event) => show(event, log, report),
    warn: (sentence) => log.warn(`warning: ${sentence}`),
    queries: { ...queryPortOf(flags, scaleOut.applicationServer), ...access },
  })
  await using running = await unlessInterrupted(started, io)
  const { process: member, queryAddress } = running
  const cancelWatch = watchQueryAccess(listener, access.access, running.replaceAccess)
  using _watch = { [Symbol.dispose]: cancelWatch }
  report({ event: 'listening', address: queryAddress }, `answers queries at ${queryAddress}`)
  await Promise.race([member.ended, io.interrupted, starterGone()])
  report({ event: 'stopping' }, 'stopping: the job partitions are handed over')
  await member.leave()
  return 0
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
      const sentence = `generation ${generation}: owns job partitions ${listOf(active)}${release.length === 0 ? '' : `, hands over ${listOf(release)}`}${isLeader ? ' (it assigns)' : ''}`
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

/** Job partitions in words: `0-3, 7`. */
function listOf(partitions: readonly number[]): string {
  if (partitions.length === 0) return 'none'
  const ranges: [number, number][] = []
  for (const partition of partitions) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] + 1 === partition) last[1] = partition
    else ranges.push([partition, partition])
  }
  return ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(', ')
}

function requireBrokers(flags: Flags) {
  const kafka = kafkaOptionsOf(flags)
  if (kafka === undefined) throw new UsageError('--scale-out needs --brokers HOST:PORT')
  return kafka
}
