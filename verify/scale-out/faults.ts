import type { Random } from '../../src/core/random.ts'
import type { TcpProxy } from '../../test/services/tcp-proxy.ts'
import type { Crew } from './crew.ts'
import { SESSION_MS, type Site } from './site.ts'

/** Processes when no fault is there. */
export const PROCESSES = 3

/** Targets of faults, and what a fault may wait for. */
export interface FaultScene {
  readonly site: Site
  readonly crew: Crew
  readonly random: Random
  /** Resolves when all job partitions run again and what was sent is visible. Rejects when they do not in time. */
  readonly settle: (what: string) => Promise<void>
  /** Notes a broken promise. */
  readonly violated: (what: string) => void
}

/** One kind of fault: it resolves at its end, before the job has recovered. */
export interface ScaleOutFault {
  readonly name: string
  /** Whether it needs storage behind a proxy. @default false */
  readonly ofStorage?: boolean
  /** Whether it takes more than a few seconds, for which a run of all tests has no time. @default false */
  readonly isLong?: boolean
  readonly inject: (scene: FaultScene) => Promise<void>
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Every kind of fault, in the order of a first rotation. */
export const SCALE_OUT_FAULTS: readonly ScaleOutFault[] = [
  { name: 'killed', inject: kill },
  { name: 'terminated', inject: terminate },
  { name: 'frozen', inject: (scene) => freeze(scene, between(scene, 1_000, 4_000)) },
  { name: 'line-cut', inject: cutLine },
  { name: 'killed-in-a-move', inject: killInMove },
  { name: 'line-delayed', inject: (scene) => delay(scene, lineOf(scene), 300) },
  { name: 'broker-restarted', inject: (scene) => restartBroker(scene, between(scene, 0, 1_500)) },
  {
    name: 'line-refused',
    inject: (scene) => refuse(scene, lineOf(scene), between(scene, 500, 4_000)),
  },
  { name: 'storage-cut', ofStorage: true, inject: ({ site }) => cut(site.storageLine!) },
  {
    name: 'storage-slow',
    ofStorage: true,
    inject: (scene) => delay(scene, scene.site.storageLine!, 600),
  },
  {
    name: 'storage-away',
    ofStorage: true,
    inject: (scene) => refuse(scene, scene.site.storageLine!, between(scene, 500, 5_000)),
  },
  {
    name: 'frozen-longer-than-the-session',
    isLong: true,
    inject: (scene) => freeze(scene, between(scene, SESSION_MS, 2 * SESSION_MS)),
  },
  {
    name: 'line-silent',
    isLong: true,
    inject: (scene) => silence(scene, between(scene, 1_000, 2 * SESSION_MS)),
  },
  {
    name: 'line-refused-longer-than-the-session',
    isLong: true,
    inject: (scene) => refuse(scene, lineOf(scene), SESSION_MS + between(scene, 0, 4_000)),
  },
  { name: 'scaled', isLong: true, inject: scale },
  { name: 'all-killed', isLong: true, inject: killAll },
  {
    name: 'kafka-away',
    isLong: true,
    inject: (scene) => restartBroker(scene, SESSION_MS + between(scene, 500, 4_000)),
  },
]

const between = ({ random }: FaultScene, least: number, most: number): number =>
  least + random.below(most - least)

/** A line with a process, at random. */
function anyLine({ crew, random }: FaultScene): number {
  return crew.lines[random.below(crew.lines.length)]!
}

const lineOf = (scene: FaultScene): TcpProxy => scene.site.lines[anyLine(scene)]!

async function kill(scene: FaultScene): Promise<void> {
  const line = anyLine(scene)
  await scene.crew.kill(line)
  // Its successor starts while the others take over, or afterwards.
  await pause(between(scene, 0, 2) === 0 ? 0 : between(scene, 0, 3_000))
  scene.crew.start(line)
}

async function terminate(scene: FaultScene): Promise<void> {
  const line = anyLine(scene)
  await leave(scene, line)
  scene.crew.start(line)
}

async function leave({ crew, violated }: FaultScene, line: number): Promise<void> {
  const violation = await crew.terminate(line)
  if (violation !== undefined) violated(violation)
}

async function freeze(scene: FaultScene, ms: number): Promise<void> {
  const line = anyLine(scene)
  scene.crew.freeze(line, true)
  await pause(ms)
  scene.crew.freeze(line, false)
}

async function cutLine(scene: FaultScene): Promise<void> {
  await cut(lineOf(scene))
}

async function cut(line: TcpProxy): Promise<void> {
  for (let i = 0; i < 5; i++) {
    line.cut()
    await pause(200)
  }
}

async function delay(scene: FaultScene, line: TcpProxy, most: number): Promise<void> {
  line.delay(between(scene, most / 3, most))
  await pause(between(scene, 1_500, 4_000))
  line.delay(0)
}

async function refuse(_: FaultScene, line: TcpProxy, ms: number): Promise<void> {
  line.set('refuse')
  line.cut()
  await pause(ms)
  line.set('pass')
}

async function silence(scene: FaultScene, ms: number): Promise<void> {
  const line = lineOf(scene)
  line.set('half-open')
  await pause(ms)
  line.set('pass')
  // Bytes are missing in the connections that were there.
  line.cut()
}

/** One more process, and a kill of any process while partitions move to it; then as many as before. */
async function killInMove(scene: FaultScene): Promise<void> {
  const { crew } = scene
  const [free] = crew.freeLines
  const member = crew.start(free!)
  const before = crew.lines.length
  while (member.events('joined').length === 0 && !member.process.hasEnded) await pause(10)
  await pause(between(scene, 0, 600))
  const line = anyLine(scene)
  await crew.kill(line)
  for (let left = before - 1; left > PROCESSES; left--) await leave(scene, anyLine(scene))
}

async function restartBroker({ site, random }: FaultScene, ms: number): Promise<void> {
  await site.broker.stopNode(random.below(2) === 0 ? 'SIGKILL' : 'SIGTERM')
  await pause(ms)
  await site.broker.startNode()
}

/** From three processes to five, to two, and to three again. */
async function scale(scene: FaultScene): Promise<void> {
  const { crew, settle } = scene
  for (const line of crew.freeLines) crew.start(line)
  await settle('five processes')
  // At once, as a supervisor that scales in.
  await Promise.all(crew.lines.slice(2).map((line) => leave(scene, line)))
  await settle('two processes')
  crew.start(crew.freeLines[0]!)
}

/** The end of all processes, and their start before or after the end of their session. */
async function killAll(scene: FaultScene): Promise<void> {
  const { crew } = scene
  const lines = [...crew.lines]
  await Promise.all(lines.map((line) => crew.kill(line)))
  await pause(between(scene, 0, 2) === 0 ? 0 : SESSION_MS + 1_000)
  for (const line of lines) crew.start(line)
}
