import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { Child } from '../child.ts'
import type { AttackerCommand, AttackerFigures } from './attacker-process.ts'
import { ADDRESSES, type Origin } from './door.ts'
import { type GoodClient, goodHttpClient } from './good-requests.ts'
import { attacksOf } from './kinds/all.ts'
import { residentBytes } from './resident.ts'
import {
  type DoorMeasured,
  doorProblems,
  mostKeptBytes,
  type WorstFigures,
  worstOf,
} from './verdict.ts'
import { measure } from './waits.ts'
import { DoorWorld, doorName, type OpenDoor, protocolOf, SERVERS, type Server } from './world.ts'

/** Time of the measurement without the attack, and beside one that holds nothing, ms. */
const SHORT_MS = 2_500
/** Time beside an attack that holds connections: longer than a request may live, ms. */
const HOLDING_MS = 16_000
/** Time that an attack has to take effect before it is measured. */
const LEAD_MS = 300
/** Time in which memory must be given back. */
const GIVEN_BACK_MS = 30_000
const PEAK_EVERY_MS = 100
/** A case with a problem runs again only within this time of its start: it ends within twice as long. */
const RETRY_WITHIN_MS = 45_000
const ORIGINS = Object.keys(ADDRESSES) as Origin[]

/** One attack on one door. */
export interface DoorCase {
  readonly server: Server
  readonly isTls: boolean
  readonly attack: string
}

/** Options of the campaign. */
export interface DoorCampaignOptions {
  readonly seed: number
  /** The cases, in the order in which they run. */
  readonly cases: readonly DoorCase[]
  /** Whether there is time for one more case. */
  readonly goesOn: () => boolean
  readonly say: (line: string) => void
  /** How often a case with a problem runs again, while there is time; the last time counts. @default 0 */
  readonly retries?: number
  /** As `doorProblems`. @default 0 */
  readonly noiseMs?: number
}

/** Figures of one case. */
export interface DoorFigures {
  readonly door: string
  readonly attack: string
  readonly origin: Origin
  readonly measured: DoorMeasured
  readonly problems: readonly string[]
}

/** Result of the campaign. */
export interface DoorCampaignReport {
  readonly cases: readonly DoorFigures[]
  /** Answers that the good clients did not get. */
  readonly lost: number
  readonly worst: WorstFigures
  readonly violations: readonly string[]
}

/** Every attack on every door, in a random order; doors of one process follow each other. */
export function allCases(random: Random, canTls: boolean): readonly DoorCase[] {
  const doors = [false, ...(canTls ? [true] : [])].flatMap((isTls) =>
    SERVERS.map((server) => ({ server, isTls })),
  )
  return doors.flatMap(({ server, isTls }) => {
    const attacks = Object.keys(attacksOf(protocolOf(server)))
    return shuffled(attacks, random).map((attack) => ({ server, isTls, attack }))
  })
}

/** A copy in a random order. */
export function shuffled<T>(values: readonly T[], random: Random): T[] {
  const left = [...values]
  return values.map(() => left.splice(random.below(left.length), 1)[0]!)
}

/**
 * Runs hostile clients against the ports of real servers, beside a good client of the same port, which must be
 * answered in time, while memory stays within its budget and comes back.
 */
export async function runDoorCampaign(options: DoorCampaignOptions): Promise<DoorCampaignReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-doors-'))
  try {
    await using campaign = await DoorCampaign.start(folder, options)
    return await campaign.run()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

class DoorCampaign implements AsyncDisposable {
  private readonly options: DoorCampaignOptions
  private readonly world: DoorWorld
  private readonly random: Random
  private readonly attackers = new Child(new URL('attacker-process.ts', import.meta.url), [], {
    isApart: true,
  })
  private readonly witness: Child
  private readonly witnessClient: GoodClient
  /** Doors that were used, with their memory before the first attack. */
  private readonly doors = new Map<
    string,
    Promise<{ readonly open: OpenDoor; readonly bytes: number }>
  >()

  private constructor(
    folder: string,
    options: DoorCampaignOptions,
    { witness, port }: { readonly witness: Child; readonly port: number },
  ) {
    this.options = options
    this.world = new DoorWorld(folder)
    this.random = seededRandom(options.seed)
    this.witness = witness
    this.witnessClient = goodHttpClient({ port, path: '/', answer: '200 {}' })
  }

  static async start(folder: string, options: DoorCampaignOptions): Promise<DoorCampaign> {
    const witness = new Child(new URL('witness-process.ts', import.meta.url))
    const { port } = await witness.ask<{ port: number }>('port')
    return new DoorCampaign(folder, options, { witness, port })
  }

  async run(): Promise<DoorCampaignReport> {
    const cases: DoorFigures[] = []
    for (const one of this.options.cases) {
      if (!this.options.goesOn()) break
      const figures = await this.runCase(one)
      cases.push(figures)
      this.options.say(lineOf(figures))
    }
    const violations = cases.flatMap(({ door, attack, problems }) =>
      problems.map((problem) => `${door}: ${attack}: ${problem}`),
    )
    const lost = cases.reduce((sum, { measured }) => sum + measured.attack.lost.length, 0)
    const worst = worstOf(cases.map(({ measured }) => measured))
    return { cases, lost, worst, violations: [...violations, ...(await this.world.ended())] }
  }

  private async runCase(one: DoorCase): Promise<DoorFigures> {
    const endMs = performance.now() + RETRY_WITHIN_MS
    for (let retries = this.options.retries ?? 0; ; retries--) {
      const figures = await this.attack(one)
      const isLast = retries <= 0 || performance.now() > endMs
      if (figures.problems.length === 0 || isLast) return figures
    }
  }

  /** A door whose code is compiled and whose heap has its usual size. */
  private warmDoor({ server, isTls }: DoorCase) {
    const name = doorName(server, isTls)
    const known = this.doors.get(name)
    if (known !== undefined) return known
    const warm = (async () => {
      const open = await this.world.open(server, isTls)
      await until('the server answers', () =>
        open.good.ask().then(
          () => true,
          () => false,
        ),
      )
      await measure(open.good.ask, this.witnessClient.ask, SHORT_MS)
      const bytes = residentBytes(open.pid)
      for (const attack of ['big bodies', 'new connections', 'mutated requests']) {
        await this.begin(open, attack, 'another address')
        await pause(LEAD_MS, 'an attack warms the server up')
        await this.command({ kind: 'end' })
      }
      return { open, bytes }
    })()
    this.doors.set(name, warm)
    return warm
  }

  private async attack(one: DoorCase): Promise<DoorFigures> {
    const { open, bytes } = await this.warmDoor(one)
    const { door, good, pid, loop } = open
    const { isHolding } = attacksOf(door.protocol)[one.attack]!
    const origin = ORIGINS[this.random.below(ORIGINS.length)]!
    const solo = await measure(good.ask, this.witnessClient.ask, SHORT_MS)
    await this.begin(open, one.attack, origin)
    await pause(LEAD_MS, 'a load is in full swing before it is measured')
    let peakBytes = 0
    const look = setInterval(() => {
      peakBytes = Math.max(peakBytes, residentBytes(pid) - bytes)
    }, PEAK_EVERY_MS)
    const forMs = isHolding ? HOLDING_MS : SHORT_MS
    await loop()
    const attack = await measure(good.ask, this.witnessClient.ask, forMs)
    const { turnMs, waited } = await loop()
    clearInterval(look)
    const { longestMs } = await this.command<AttackerFigures>({ kind: 'end' })
    const measured: DoorMeasured = {
      ...{ solo, attack, peakBytes, turnMs, waited },
      isTls: one.isTls,
      keptBytes: await this.keptBytes(pid, bytes, mostKeptBytes(one)),
      longestMs: isHolding ? longestMs : undefined,
    }
    const problems = doorProblems(measured, this.options.noiseMs)
    return { door: door.name, attack: one.attack, origin, measured, problems }
  }

  /** Memory above the start when it is back, or after the time that it has for that. */
  private async keptBytes(pid: number, before: number, most: number): Promise<number> {
    const endMs = performance.now() + GIVEN_BACK_MS
    for (;;) {
      const kept = residentBytes(pid) - before
      if (kept <= most || performance.now() > endMs) return kept
      await pause(250, 'memory comes back over time')
    }
  }

  private begin({ door }: OpenDoor, attack: string, origin: Origin): Promise<object> {
    const seed = this.random.below(2 ** 31)
    return this.command({ kind: 'attack', door, attack, origin, seed })
  }

  private command<T extends object>(command: AttackerCommand): Promise<T> {
    return this.attackers.ask<T>(command)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.attackers[Symbol.asyncDispose]()
    for (const door of await Promise.allSettled(this.doors.values())) {
      if (door.status === 'fulfilled') await door.value.open.good.close()
    }
    await this.witnessClient.close()
    await this.witness[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
  }
}

function lineOf(figures: DoorFigures): string {
  const { door, attack: name, origin, measured } = figures
  const { solo, attack, turnMs, waited, peakBytes, keptBytes, longestMs } = measured
  const machine = `witness ${attack.witness.worstMs.toFixed(0)}, no processor ${waited.worstMs.toFixed(0)}`
  const waits = `worst ${attack.good.worstMs.toFixed(0)} ms (${machine})`
  const p99 = `p99 ${attack.good.p99Ms.toFixed(1)} (alone ${solo.good.p99Ms.toFixed(1)})`
  const memory = `peak ${mib(peakBytes)}, kept ${mib(keptBytes)}`
  const life = longestMs === undefined ? '' : `, longest request ${(longestMs / 1000).toFixed(1)} s`
  const verdict = figures.problems.length === 0 ? 'passed' : `FAILED ${figures.problems.join('; ')}`
  const turn = `longest turn ${turnMs.toFixed(0)} ms`
  return `${door}: ${name} from ${origin}: ${waits}, ${p99}, ${turn}, ${memory}${life}: ${verdict}`
}

const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`
