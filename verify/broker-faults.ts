import type { FaultSite } from './fault.ts'
import type { World } from './world/world.ts'

/** Time that a broker stays down after another one has taken over, ms. */
const DOWN_MS = 500
const LOOK_MS = 50

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends the broker that leads a partition of the input, and starts it again when another one leads. */
export async function restartLeader(
  site: FaultSite,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<number> {
  const { world, inputTopic: topic } = site
  await world.untilBrokersRun()
  const partition = site.random.below(site.inputPartitions)
  const leader = await world.leaderOf({ topic, partition })
  await world.broker.stopNode(signal, leader)
  await untilMoved(world, { topic, partition, leader, limitMs: site.limitMs })
  world.startBrokerLater(leader)
  return 1
}

/**
 * Freezes a leader until another broker leads. It wakes up with the belief that it still leads, and the
 * fault ends when it knows better.
 */
export async function freezeLeader(site: FaultSite): Promise<number> {
  const { world, inputTopic: topic, limitMs } = site
  await world.untilBrokersRun()
  const partition = site.random.below(site.inputPartitions)
  const leader = await world.leaderOf({ topic, partition })
  await world.broker.pauseNode('SIGSTOP', leader)
  try {
    await untilMoved(world, { topic, partition, leader, limitMs })
  } finally {
    await world.broker.pauseNode('SIGCONT', leader)
  }
  await untilKnown(world, { topic, partition, leader, limitMs })
  return 0
}

/** Resolves when a broker knows that it no longer leads, and its earlier answers have arrived. */
async function untilKnown(
  world: World,
  { topic, partition, leader, limitMs }: Move,
): Promise<void> {
  const others = world.broker.nodes.map((_, i) => i).filter((node) => node !== leader)
  const giveUpAt = performance.now() + limitMs
  for (;;) {
    const asked = { topic, partition, without: others }
    const now = await world.leaderOf(asked).catch(() => leader)
    if (now !== leader && now >= 0) break
    if (performance.now() > giveUpAt) throw new Error('a frozen broker does not wake up')
    await pause(LOOK_MS)
  }
  await pause(DOWN_MS)
}

/** Kills the broker that coordinates all transactions, and starts it again when another one does. */
export async function killCoordinator({ world, limitMs }: FaultSite): Promise<number> {
  const { topic, partition } = world.transactions
  await world.untilBrokersRun()
  const leader = await world.leaderOf({ topic, partition })
  await world.broker.stopNode('SIGKILL', leader)
  await untilMoved(world, { topic, partition, leader, limitMs })
  world.startBrokerLater(leader)
  return 1
}

/** Kills all brokers at once. */
export async function killBrokers({ world }: FaultSite): Promise<number> {
  await world.untilBrokersRun()
  const nodes = world.broker.nodes.map((_, i) => i)
  await Promise.all(nodes.map((node) => world.broker.stopNode('SIGKILL', node)))
  await pause(DOWN_MS)
  await Promise.all(nodes.map((node) => world.broker.startNode(node)))
  return nodes.length
}

interface Move {
  readonly topic: string
  readonly partition: number
  /** Index of the broker that no longer answers. */
  readonly leader: number
  readonly limitMs: number
}

/** Resolves when another broker leads the partition. */
async function untilMoved(world: World, move: Move): Promise<void> {
  const { leader, limitMs, ...place } = move
  const giveUpAt = performance.now() + limitMs
  for (;;) {
    const now = await world.leaderOf({ ...place, without: [leader] }).catch(() => leader)
    if (now !== leader && now >= 0) break
    if (performance.now() > giveUpAt) throw new Error(`no broker takes over ${place.topic}`)
    await pause(LOOK_MS)
  }
  await pause(DOWN_MS)
}
