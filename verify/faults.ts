import type { Random } from '../src/core/random.ts'
import { freePorts } from '../test/services/free-port.ts'
import { freezeLeader, killBrokers, killCoordinator, restartLeader } from './broker-faults.ts'
import type { Fault, FaultSite } from './fault.ts'
import { TRANSACTION_TIMEOUT_MS } from './jobs/counts.ts'
import type { SupervisedJob } from './jobs/supervised-job.ts'
import { truncateSink, truncateSource } from './truncation/faults.ts'
import { freezeBeforeCommit, freezeBetweenRecords } from './truncation/freezes.ts'
import type { Line } from './world/query-line.ts'

const CUTS = 5
const DELAY_MS = 120
const DELAYED_MS = 2000
const SILENT_MS = 1500
const FULL_MS = 1500
const DOWN_MS = 1000
const FROZEN_MS = 2500
/** Delay of HDFS that holds a checkpoint open between two of its steps. */
const SLOW_STEP_MS = 200
/** Time from a segment's first byte to the end of the sink's preparation. */
const PREPARE_MS = 150
const PARALLELISMS = [1, 2, 3]
/** Time from the start of a process to the end of its restore, at most. */
const RESTORE_MS = 400

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Every kind of fault, in the order of a first rotation. */
export const FAULTS: readonly Fault[] = [
  { name: 'slot-killed', group: 'process', times: 6, inject: killSlots },
  { name: 'process-killed', group: 'process', times: 4, inject: (site) => signal(site, 'SIGKILL') },
  { name: 'killed-before-manifest', group: 'restore', times: 2, inject: killBeforeManifest },
  { name: 'killed-before-commit', group: 'restore', times: 2, inject: killBeforeCommit },
  { name: 'leader-killed', group: 'service', inject: (site) => restartLeader(site, 'SIGKILL') },
  {
    name: 'killed-in-restore',
    group: 'restore',
    times: 4,
    inject: (site) => onEach(site, killInRestore),
  },
  { name: 'rescaled', group: 'restore', inject: rescale },
  {
    name: 'killed-in-rescale',
    group: 'restore',
    inject: (site) => onEach(site, killInRescale),
  },
  { name: 'leader-moved', group: 'service', inject: (site) => restartLeader(site, 'SIGTERM') },
  { name: 'process-frozen', group: 'process', inject: (site) => onEach(site, freeze) },
  {
    name: 'process-frozen-long',
    group: 'process',
    inject: (site) => onEach(site, freezeLong),
  },
  { name: 'process-replaced', group: 'process', inject: (site) => onEach(site, replace) },
  { name: 'partition-added', group: 'service', inject: ({ growInput }) => grown(growInput) },
  {
    name: 'output-partition-added',
    group: 'service',
    inject: ({ growOutput }) => grown(growOutput),
  },
  { name: 'process-terminated', group: 'process', inject: (site) => signal(site, 'SIGTERM') },
  { name: 'coordinator-killed', group: 'service', inject: killCoordinator },
  ...lineFaults('kafka', ({ world }) => world.kafkaLine),
  ...lineFaults('hdfs', ({ world }) => world.hdfsLine),
  { name: 'leader-frozen', group: 'service', inject: freezeLeader },
  ...lineFaults('query', ({ queryLine }) => queryLine),
  { name: 'quota-filled', group: 'service', inject: fillQuota },
  { name: 'namenode-stopped', group: 'service', inject: restartNameNode },
  { name: 'datanode-killed', group: 'service', inject: restartDataNode },
  { name: 'brokers-killed', group: 'service', inject: killBrokers },
  { name: 'storage-gone-long', group: 'service', isLong: true, inject: stopStorage },
  { name: 'ids-expired', group: 'service', isLong: true, inject: expireIds },
  { name: 'frozen-between-records', group: 'process', isLong: true, inject: freezeBetweenRecords },
  { name: 'frozen-before-commit', group: 'restore', isLong: true, inject: freezeBeforeCommit },
  { name: 'source-truncated', group: 'truncation', isLong: true, inject: truncateSource },
  { name: 'sink-truncated', group: 'truncation', isLong: true, inject: truncateSink },
]

/** Injects a fault into each of the jobs at the same time; the number of kills. */
async function onEach(
  site: FaultSite,
  inject: (job: SupervisedJob, site: FaultSite) => Promise<number>,
): Promise<number> {
  const kills = await Promise.all(site.jobs.map((job) => inject(job, site)))
  return kills.reduce((sum, one) => sum + one, 0)
}

async function killSlots({ jobs, random }: FaultSite): Promise<number> {
  for (const job of jobs) job.killSlot(random.below(job.slots))
  return jobs.length
}

async function signal({ jobs }: FaultSite, name: 'SIGKILL' | 'SIGTERM'): Promise<number> {
  await Promise.all(jobs.map((job) => job.signal(name)))
  return jobs.length
}

/**
 * Kills the processes when a checkpoint of the first has segments and prepared transactions, but no
 * manifest.
 */
async function killBeforeManifest(site: FaultSite): Promise<number> {
  const checkpoints = site.filesOf(site.jobs[0]!)
  site.world.hdfsLine.delay(SLOW_STEP_MS)
  try {
    await checkpoints.nextManifest()
    await checkpoints.nextSegment()
    await pause(PREPARE_MS)
    return await signal(site, 'SIGKILL')
  } finally {
    site.world.hdfsLine.delay(0)
  }
}

/** Kills the processes when a manifest of the first is there and the answer to its writer is still on the way. */
async function killBeforeCommit(site: FaultSite): Promise<number> {
  site.world.hdfsLine.delay(SLOW_STEP_MS)
  try {
    await site.filesOf(site.jobs[0]!).nextManifest()
    return await signal(site, 'SIGKILL')
  } finally {
    site.world.hdfsLine.delay(0)
  }
}

/** Kills the process, and the next one while it starts or restores. */
async function killInRestore(job: SupervisedJob, { random, limitMs }: FaultSite): Promise<number> {
  const { processes, reports } = job
  await job.signal('SIGKILL')
  const giveUpAt = performance.now() + limitMs
  while (job.processes === processes || job.reports === reports) {
    if (performance.now() > giveUpAt) throw new Error(`${job.name} does not start again`)
    await pause(5)
  }
  await pause(random.below(RESTORE_MS))
  await job.signal('SIGKILL')
  return 2
}

async function rescale(site: FaultSite): Promise<number> {
  for (const job of site.jobs) job.rescale(otherParallelism(job, site.random))
  return await signal(site, 'SIGTERM')
}

async function killInRescale(job: SupervisedJob, site: FaultSite): Promise<number> {
  job.rescale(otherParallelism(job, site.random))
  const kills = await killInRestore(job, site)
  job.rescale(otherParallelism(job, site.random))
  return kills
}

function otherParallelism({ slots }: SupervisedJob, random: Random): number {
  const others = PARALLELISMS.filter((one) => one !== slots)
  return others[random.below(others.length)]!
}

async function freeze(job: SupervisedJob): Promise<number> {
  await job.freeze(FROZEN_MS)
  return 0
}

/** Freezes the process until the brokers have aborted its transactions. */
async function freezeLong(job: SupervisedJob): Promise<number> {
  await job.freeze(TRANSACTION_TIMEOUT_MS + FROZEN_MS)
  return 0
}

/**
 * Freezes the process, sometimes just when a manifest appears, and lets another one take over. The frozen
 * one wakes up as a zombie: it must notice that and end.
 */
async function replace(job: SupervisedJob, site: FaultSite): Promise<number> {
  if (site.random.below(2) === 0) await site.filesOf(job).nextManifest()
  const [port] = await freePorts(1)
  if (await job.replaceFrozen(port!, site.limitMs)) return 0
  site.violate('not-fenced', `a process of ${job.name} runs on after another one has taken over`)
  return 1
}

async function grown(grow: () => Promise<void>): Promise<number> {
  await grow()
  return 0
}

function lineFaults(name: string, lineIn: (site: FaultSite) => Line): Fault[] {
  const cut = async (site: FaultSite): Promise<number> => {
    for (let i = 0; i < CUTS; i++) {
      lineIn(site).cut()
      await pause(site.random.below(150))
    }
    return 0
  }
  const delay = async (site: FaultSite): Promise<number> => {
    lineIn(site).delay(DELAY_MS)
    await pause(DELAYED_MS)
    lineIn(site).delay(0)
    return 0
  }
  const silence = async (site: FaultSite): Promise<number> => {
    lineIn(site).silence()
    await pause(SILENT_MS)
    lineIn(site).reopen()
    return 0
  }
  return [
    { name: `${name}-cut`, group: 'connection', inject: cut },
    { name: `${name}-delayed`, group: 'connection', inject: delay },
    { name: `${name}-half-open`, group: 'connection', inject: silence },
  ]
}

async function fillQuota({ world, checkpointFolder }: FaultSite): Promise<number> {
  // The quota is less than a block, so HDFS refuses every new file.
  await world.setQuota(checkpointFolder, 1024)
  await pause(FULL_MS)
  await world.setQuota(checkpointFolder, undefined)
  return 0
}

async function restartNameNode({ world }: FaultSite): Promise<number> {
  await world.hdfs.stopNameNode('SIGKILL')
  await pause(DOWN_MS)
  await world.hdfs.startNameNode()
  await world.hdfs.untilWritable()
  return 1
}

/** Stops the NameNode until the brokers have aborted the transactions of checkpoints that could not be stored. */
async function stopStorage({ world }: FaultSite): Promise<number> {
  await world.hdfs.stopNameNode('SIGKILL')
  await pause(TRANSACTION_TIMEOUT_MS + FROZEN_MS)
  await world.hdfs.startNameNode()
  await world.hdfs.untilWritable()
  return 1
}

/** Sends no records until the brokers have forgotten the transactional ids that a sink has taken in advance. */
async function expireIds({ world, countLoad, outputTopic, limitMs }: FaultSite): Promise<number> {
  await world.untilBrokersRun()
  countLoad.pause(true)
  try {
    const giveUpAt = performance.now() + limitMs
    while ((await world.transactionalIds()).some((id) => id.startsWith(`${outputTopic}/`))) {
      if (performance.now() > giveUpAt) throw new Error('transactional ids do not expire')
    }
  } finally {
    countLoad.pause(false)
  }
  return 0
}

async function restartDataNode({ world }: FaultSite): Promise<number> {
  await world.hdfs.stopDataNode('SIGKILL')
  await pause(DOWN_MS)
  await world.hdfs.startDataNode()
  await world.hdfs.untilWritable()
  return 1
}

/** An endless order of faults, in rounds: first each once, then each as often as it says, shuffled. */
export function* rotation(faults: readonly Fault[], random: Random): Generator<Fault> {
  yield* faults
  const often = faults.flatMap((fault) => Array.from({ length: fault.times ?? 1 }, () => fault))
  for (;;) yield* shuffled(often, random)
}

function shuffled(faults: readonly Fault[], random: Random): Fault[] {
  const order = [...faults]
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = order[i]!
    order[i] = order[j]!
    order[j] = kept
  }
  return order
}
