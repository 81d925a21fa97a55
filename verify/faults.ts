import type { Random } from '../src/core/random.ts'
import type { Line, QueryLine } from './query-line.ts'
import type { SupervisedJob } from './supervised-job.ts'
import type { World } from './world.ts'

/** What faults are done to. */
export interface FaultSite {
  readonly world: World
  /** Whose turn it is to be killed. */
  readonly job: SupervisedJob
  readonly queryLine: QueryLine
  /** Folder of all checkpoints in HDFS. */
  readonly checkpointFolder: string
  readonly random: Random
}

/** One kind of fault. */
export interface Fault {
  readonly name: string
  /** Whether something is killed. */
  readonly kills: boolean
  /** Does it; resolves when what was broken is there again (not: when the jobs have recovered). */
  readonly inject: (site: FaultSite) => Promise<void>
}

const CUTS = 5
const DELAY_MS = 120
const DELAYED_MS = 2000
const SILENT_MS = 1500
const FULL_MS = 1500
const DOWN_MS = 1000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Every kind of fault, in the order of a first rotation. */
export const FAULTS: readonly Fault[] = [
  { name: 'slot-killed', kills: true, inject: killSlot },
  { name: 'process-killed', kills: true, inject: ({ job }) => job.signal('SIGKILL') },
  { name: 'process-terminated', kills: true, inject: ({ job }) => job.signal('SIGTERM') },
  { name: 'broker-killed', kills: true, inject: (site) => restartBroker(site, 'SIGKILL') },
  ...lineFaults('kafka', ({ world }) => world.kafkaLine),
  ...lineFaults('hdfs', ({ world }) => world.hdfsLine),
  ...lineFaults('query', ({ queryLine }) => queryLine),
  { name: 'quota-filled', kills: false, inject: fillQuota },
  { name: 'namenode-stopped', kills: true, inject: restartNameNode },
  { name: 'datanode-killed', kills: true, inject: restartDataNode },
]

async function killSlot({ job, random }: FaultSite): Promise<void> {
  job.killSlot(random.below(job.slots))
}

async function restartBroker({ world }: FaultSite, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  await world.broker.stopNode(signal)
  await pause(DOWN_MS)
  await world.broker.startNode()
}

function lineFaults(name: string, lineIn: (site: FaultSite) => Line): Fault[] {
  const cut = async (site: FaultSite): Promise<void> => {
    for (let i = 0; i < CUTS; i++) {
      lineIn(site).cut()
      await pause(site.random.below(150))
    }
  }
  const delay = async (site: FaultSite): Promise<void> => {
    lineIn(site).delay(DELAY_MS)
    await pause(DELAYED_MS)
    lineIn(site).delay(0)
  }
  const silence = async (site: FaultSite): Promise<void> => {
    lineIn(site).silence()
    await pause(SILENT_MS)
    lineIn(site).reopen()
  }
  return [
    { name: `${name}-cut`, kills: false, inject: cut },
    { name: `${name}-delayed`, kills: false, inject: delay },
    { name: `${name}-half-open`, kills: false, inject: silence },
  ]
}

async function fillQuota({ world, checkpointFolder }: FaultSite): Promise<void> {
  // Less than a block: every new file is refused.
  await world.setQuota(checkpointFolder, 1024)
  await pause(FULL_MS)
  await world.setQuota(checkpointFolder, undefined)
}

async function restartNameNode({ world }: FaultSite): Promise<void> {
  await world.hdfs.stopNameNode('SIGKILL')
  await pause(DOWN_MS)
  await world.hdfs.startNameNode()
  await world.hdfs.untilWritable()
}

async function restartDataNode({ world }: FaultSite): Promise<void> {
  await world.hdfs.stopDataNode('SIGKILL')
  await pause(DOWN_MS)
  await world.hdfs.startDataNode()
  await world.hdfs.untilWritable()
}

/** An order of faults in which each comes once before any comes again; shuffled from the second on. */
export function* rotation(faults: readonly Fault[], random: Random): Generator<Fault> {
  for (let order = [...faults]; ; order = shuffled(order, random)) yield* order
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
